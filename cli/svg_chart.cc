#include "cli/svg_chart.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/html_text.h"
#include "cli/number_format.h"

namespace flywheel {
namespace {

// More would only blacken the picture: a curve is some 600 pixels wide.
constexpr std::size_t kPointsMax = 300;

// Pixels of the picture, before the page scales it.
constexpr double kWidth = 640;
constexpr double kHeight = 240;
constexpr double kLeft = 56;
constexpr double kRight = 16;
constexpr double kTop = 10;
constexpr double kBottom = 40;

// The range of one axis and the pixels it covers.
struct Axis {
  double low = 0;
  double high = 0;
  double pixel_low = 0;
  double pixel_high = 0;
  std::vector<double> ticks;

  double Pixel(double value) const {
    return pixel_low + (value - low) / (high - low) * (pixel_high - pixel_low);
  }
};

struct Range {
  double low = 0;
  double high = 0;
  bool empty = true;

  void Add(double value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
};

// From tick to tick: the data lie between round numbers.
Axis VerticalAxis(const Range& range) {
  std::vector<double> ticks = AxisTicks(range.low, range.high, 5);
  return {.low = ticks.front(),
          .high = ticks.back(),
          .pixel_low = kHeight - kBottom,
          .pixel_high = kTop,
          .ticks = std::move(ticks)};
}

// As wide as the data: ticks beyond them are left out.
Axis HorizontalAxis(const Range& range) {
  std::vector<double> ticks = AxisTicks(range.low, range.high, 6);
  const bool wide = range.high > range.low;
  const double low = wide ? range.low : ticks.front();
  const double high = wide ? range.high : ticks.back();
  const double slack = (high - low) * 1e-6;
  std::erase_if(ticks, [&](double tick) {
    return tick < low - slack || tick > high + slack;
  });
  return {.low = low,
          .high = high,
          .pixel_low = kLeft,
          .pixel_high = kWidth - kRight,
          .ticks = std::move(ticks)};
}

std::string ValueText(const Chart& chart, double value) {
  return chart.percent ? Percent(value) : Compact(value);
}

std::string Label(double x, double y, const char* anchor,
                  const std::string& text) {
  return absl::StrFormat(
      R"(<text x="%.1f" y="%.1f" text-anchor="%s">%s</text>)", x, y, anchor,
      HtmlText(text));
}

std::string Line(const char* css_class, double x1, double y1, double x2,
                 double y2) {
  return absl::StrFormat(
      R"(<line class="%s" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>)",
      css_class, x1, y1, x2, y2);
}

std::string Axes(const Chart& chart, const Axis& x, const Axis& y) {
  std::string svg;
  for (const double tick : y.ticks) {
    const double at = y.Pixel(tick);
    svg += Line("grid", kLeft, at, kWidth - kRight, at);
    svg += Label(kLeft - 8, at + 4, "end", ValueText(chart, tick));
  }
  for (const double tick : x.ticks) {
    svg +=
        Label(x.Pixel(tick), kHeight - kBottom + 18, "middle", Compact(tick));
  }
  svg += Label((kLeft + kWidth - kRight) / 2, kHeight - 4, "middle",
               chart.x_label);
  return svg;
}

std::string Curve(const ChartSeries& series, const Axis& x, const Axis& y) {
  std::string path;
  for (const CurvePoint& point : series.points) {
    absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "" : " ",
                          x.Pixel(point.x), y.Pixel(point.y));
  }
  return absl::StrFormat(R"(<polyline class="curve s%d" points="%s"/>)",
                         series.color, path);
}

// Each dot says its value to a mouse over it.
std::string Dots(const Chart& chart, const ChartSeries& series, const Axis& x,
                 const Axis& y) {
  std::string svg;
  for (const CurvePoint& point : series.points) {
    absl::StrAppendFormat(
        &svg,
        R"(<circle class="dot s%d" cx="%.1f" cy="%.1f" r="4">)"
        R"(<title>%s: %s at %s %s</title></circle>)",
        series.color, x.Pixel(point.x), y.Pixel(point.y), HtmlText(series.name),
        ValueText(chart, point.y), Compact(point.x), HtmlText(chart.x_label));
  }
  return svg;
}

std::string Legend(const Chart& chart) {
  std::string html = R"(<p class="legend">)";
  for (const ChartSeries& series : chart.series) {
    if (series.points.empty()) continue;
    absl::StrAppendFormat(
        &html, R"(<span><i class="key %s s%d"></i>%s <b>%s</b></span>)",
        series.mark == Mark::kDots ? "round" : "line", series.color,
        HtmlText(series.name), ValueText(chart, series.points.back().y));
  }
  if (chart.limit) {
    absl::StrAppendFormat(
        &html, R"(<span><i class="key dashed"></i>%s <b>%s</b></span>)",
        HtmlText(chart.limit->name), ValueText(chart, chart.limit->y));
  }
  return html + "</p>";
}

std::string Picture(const Chart& chart, Range xs, Range ys) {
  if (chart.y_min) ys.Add(*chart.y_min);
  if (chart.y_max) ys.Add(*chart.y_max);
  if (chart.limit) ys.Add(chart.limit->y);
  xs.Add(0);
  const Axis x = HorizontalAxis(xs);
  const Axis y = VerticalAxis(ys);
  std::string svg = absl::StrFormat(
      R"(<svg viewBox="0 0 %.0f %.0f" role="img" aria-label="%s">)", kWidth,
      kHeight, HtmlText(chart.title));
  svg += Axes(chart, x, y);
  if (chart.limit) {
    const double at = y.Pixel(chart.limit->y);
    svg += Line("limit", kLeft, at, kWidth - kRight, at);
  }
  for (const ChartSeries& series : chart.series) {
    if (series.points.empty()) continue;
    svg += series.mark == Mark::kDots || series.points.size() == 1
               ? Dots(chart, series, x, y)
               : Curve(series, x, y);
  }
  return svg + "</svg>";
}

// Within what the arithmetic of ticks can neither overflow nor underflow.
double Tame(double value) {
  return std::abs(value) < 1e-280 ? 0 : std::clamp(value, -1e290, 1e290);
}

}  // namespace

std::vector<double> AxisTicks(double low, double high, int count) {
  low = Tame(low);
  high = Tame(high);
  if (high - low < std::max(std::abs(low), std::abs(high)) * 1e-9 + 1e-290) {
    const double room = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= room;
    high += room;
  }
  const double raw = (high - low) / count;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double lead = raw / power;
  const double step = power * (lead <= 1   ? 1
                               : lead <= 2 ? 2
                               : lead <= 5 ? 5
                                           : 10);
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  const double last = std::ceil(high / step - 1e-9);
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::string SvgChart(const Chart& chart) {
  Chart shown = chart;
  Range xs, ys;
  for (ChartSeries& series : shown.series) {
    series.points = Downsample(series.points, kPointsMax, series.stand);
    for (const CurvePoint& point : series.points) {
      xs.Add(point.x);
      ys.Add(point.y);
    }
  }
  std::string html = absl::StrCat("<figure><figcaption>", HtmlText(shown.title),
                                  "</figcaption>");
  if (xs.empty) return html + "<p class=\"none\">no data</p></figure>\n";
  return absl::StrCat(html, Legend(shown), Picture(shown, xs, ys),
                      "</figure>\n");
}

}  // namespace flywheel
