#include "cli/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <sstream>

#include "absl/strings/match.h"
#include "cli/svg_chart.h"

namespace flywheel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<CurvePoint> Line(int points) {
  std::vector<CurvePoint> line;
  for (int i = 0; i < points; ++i) line.push_back({1.0 * i, 2.0 * i});
  return line;
}

TEST(DownsampleTest, LeavesAShortCurveAsItIs) {
  EXPECT_EQ(Downsample(Line(10), 10, Stand::kMean).size(), 10);
}

TEST(DownsampleTest, KeepsTheMeanAndTheSum) {
  const auto fewer = Downsample(Line(1000), 10, Stand::kMean);
  ASSERT_EQ(fewer.size(), 10);
  EXPECT_DOUBLE_EQ(fewer[0].x, 49.5);
  EXPECT_DOUBLE_EQ(fewer[0].y, 99);
  EXPECT_DOUBLE_EQ(fewer[9].y, 1899);
}

TEST(DownsampleTest, KeepsThePeakWhereAskedFor) {
  auto line = Line(1000);
  line[501].y = 1e6;
  const auto fewer = Downsample(line, 7, Stand::kMax);
  double max = 0;
  for (const auto& point : fewer) max = std::max(max, point.y);
  EXPECT_EQ(max, 1e6);
}

TEST(DownsampleTest, LeavesOutWhatWasNotMeasured) {
  const std::vector<CurvePoint> gaps = {{0, 1}, {1, kNan}, {kNan, 1}, {2, 3}};
  EXPECT_EQ(Downsample(gaps, 10, Stand::kMean).size(), 2);
}

TEST(AxisTest, TicksAreRoundAndCoverTheRange) {
  const auto ticks = AxisTicks(0.13, 0.87, 5);
  EXPECT_LE(ticks.front(), 0.13);
  EXPECT_GE(ticks.back(), 0.87);
  EXPECT_LE(ticks.size(), 8);
  EXPECT_DOUBLE_EQ(ticks[1] - ticks[0], 0.2);
}

TEST(AxisTest, AnyFiniteRangeGivesAFewFiniteTicks) {
  const double values[] = {0,      1,        -1,     1e-300,  -1e-300,
                           5e-324, 1e300,    -1e300, 1.7e308, -1.7e308,
                           1e15,   1e15 + 1, 3.3};
  for (const double low : values) {
    for (const double high : values) {
      if (low > high) continue;
      const auto ticks = AxisTicks(low, high, 5);
      ASSERT_GE(ticks.size(), 2) << low << " " << high;
      ASSERT_LE(ticks.size(), 20) << low << " " << high;
      for (const double tick : ticks) ASSERT_TRUE(std::isfinite(tick));
      ASSERT_LT(ticks.front(), ticks.back());
    }
  }
}

TEST(SvgChartTest, SaysSoWhereThereIsNothing) {
  EXPECT_TRUE(absl::StrContains(SvgChart({.title = "Loss"}), "no data"));
  EXPECT_TRUE(absl::StrContains(
      SvgChart({.title = "Loss", .series = {{.points = {{1, kNan}}}}}),
      "no data"));
}

TEST(SvgChartTest, ALoneOrFlatPointIsDrawnInside) {
  for (const auto& points : {std::vector<CurvePoint>{{5, 3}},
                             std::vector<CurvePoint>{{0, 0}, {0, 0}},
                             std::vector<CurvePoint>{{1, 7}, {2, 7}}}) {
    const std::string svg =
        SvgChart({.title = "x", .series = {{.name = "a", .points = points}}});
    EXPECT_TRUE(absl::StrContains(svg, "<svg"));
    EXPECT_FALSE(absl::StrContains(svg, "nan"));
    EXPECT_FALSE(absl::StrContains(svg, "inf"));
  }
}

TEST(SvgChartTest, LongCurvesAreThinnedOut) {
  const std::string svg = SvgChart(
      {.title = "x", .series = {{.name = "a", .points = Line(100000)}}});
  EXPECT_LT(svg.size(), 20000);
}

TEST(SvgChartTest, EscapesItsTexts) {
  const std::string svg = SvgChart({.title = "<em>\"&",
                                    .x_label = "<q>",
                                    .series = {{.name = "<u>",
                                                .points = {{0, 1}, {1, 2}},
                                                .mark = Mark::kDots}},
                                    .limit = ChartLimit{"<s>", 1}});
  for (const char* markup : {"<em>", "<q>", "<u>", "<s>"}) {
    EXPECT_FALSE(absl::StrContains(svg, markup)) << markup;
  }
  EXPECT_TRUE(absl::StrContains(svg, "&lt;em&gt;&quot;&amp;"));
}

nlohmann::json EvilSummary() {
  const std::string evil = "<script>alert(1)</script>\" onload='x'";
  return {{"name", evil},
          {"task", evil},
          {"state", evil},
          {"message", evil},
          {"finished", evil},
          {"idle", {{"rollout", {{evil, 0.5}, {"busy", 0.5}}}}},
          {"drops", {{evil, 3}}},
          {"restarts", {{evil, 1}}},
          {"recoveries", {{{"role", evil}, {"reason", evil}}}},
          {"evaluations", {{{"checkpoint", evil}, {"environment_steps", 1}}}},
          {"versions", {{evil, evil}}}};
}

TEST(ReportTest, NoTextBecomesMarkup) {
  nlohmann::json summary = EvilSummary();
  const std::string evil = summary["name"];
  for (const char* state : {"FAILED", "SUCCEEDED"}) {
    summary["state"] = state;
    const std::string html = ReportHtml(summary, MetricsTable(), evil);
    EXPECT_FALSE(absl::StrContains(html, "<script"));
    EXPECT_FALSE(absl::StrContains(html, "onload='"));
  }
}

TEST(ReportTest, FetchesNothing) {
  const std::string html =
      ReportHtml(EvilSummary(), MetricsTable(), "task: a\n");
  for (const char* outside : {"http:", "https:", "src=", "url(", "@import",
                              "<link", "<img", "<iframe"}) {
    EXPECT_FALSE(absl::StrContains(html, outside)) << outside;
  }
}

TEST(ReportTest, SummariesOfAnyShapeGiveAPage) {
  const nlohmann::json shapes[] = {nullptr,
                                   3,
                                   "x",
                                   nlohmann::json::array(),
                                   nlohmann::json::object(),
                                   {{"name", 3},
                                    {"idle", "x"},
                                    {"drops", {1, 2}},
                                    {"restarts", nullptr},
                                    {"recoveries", {{"a", 1}}},
                                    {"evaluations", 7},
                                    {"versions", {1}},
                                    {"environment_steps", 1e300},
                                    {"policy_lag", {{"limit", "x"}}}}};
  for (const auto& summary : shapes) {
    const std::string html = ReportHtml(summary, MetricsTable(), "");
    EXPECT_TRUE(absl::StrContains(html, "</html>")) << summary;
  }
}

// Every opened element is closed, in order.
void ExpectBalanced(const std::string& html) {
  static const std::regex tag(R"(<(/?)([a-z0-9]+)[^>]*?(/?)>)");
  std::vector<std::string> open;
  for (std::sregex_iterator i(html.begin(), html.end(), tag), end; i != end;
       ++i) {
    const std::string name = (*i)[2];
    if (name == "meta" || (*i)[3] == "/") continue;
    if ((*i)[1] != "/") {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << name;
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty());
}

TEST(ReportTest, ItsElementsAreBalanced) {
  MetricsTable metrics;
  std::ostringstream text;
  for (int i = 1; i < 50; ++i) {
    text << R"({"phase":"training","environment_steps":)" << i * 100
         << R"(,"seconds":)" << i
         << R"(,"loss":0.5,"policy_lag_max":2,"policy_lag_mean":1,)"
         << R"("episode_return_mean":3,"success_rate":0.5})"
         << "\n";
  }
  std::istringstream file(text.str());
  metrics.Read(file);
  const std::string html = ReportHtml(EvilSummary(), metrics, "task: a\n");
  ExpectBalanced(html);
  EXPECT_TRUE(absl::StrContains(html, "Success rate"));
}

}  // namespace
}  // namespace flywheel
