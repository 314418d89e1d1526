#include "cli/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "cli/html_text.h"
#include "cli/json_value.h"
#include "cli/number_format.h"
#include "cli/report_charts.h"
#include "cli/report_style.h"

namespace flywheel {
namespace {

using nlohmann::json;

// "waiting_for_data" as words.
std::string Words(const std::string& name) {
  return absl::StrReplaceAll(name, {{"_", " "}});
}

std::string Count(const json& summary, const char* name) {
  const double value = NumberAt(summary, {name});
  return std::abs(value) < 1e18 ? Grouped(std::llround(value)) : "–";
}

double SumOf(const json& counts) {
  double sum = 0;
  for (const json& count : counts) {
    if (count.is_number()) sum += count.get<double>();
  }
  return sum;
}

std::string Card(const std::string& value, const std::string& what,
                 const std::string& more = "") {
  return absl::StrCat("<div class=\"card\"><b>", HtmlText(value), "</b><span>",
                      HtmlText(what), "</span><span>", HtmlText(more),
                      "</span></div>\n");
}

const char* StateClass(const std::string& state) {
  if (state == "SUCCEEDED") return "good";
  return state == "FAILED" ? "bad" : "hold";
}

std::string Heading(const json& summary) {
  const std::string state = TextAt(summary, {"state"});
  const std::string message = TextAt(summary, {"message"});
  std::string html = absl::StrCat(
      "<h1>", HtmlText(TextAt(summary, {"name"})), "<span class=\"state ",
      StateClass(state), "\">", HtmlText(state), "</span></h1>\n",
      "<p class=\"sub\">", HtmlText(TextAt(summary, {"task"})), " · seed ",
      Count(summary, "seed"), " · ", HtmlText(TextAt(summary, {"finished"})),
      "</p>\n");
  if (state == "FAILED" && !message.empty()) {
    absl::StrAppend(&html, "<p class=\"note\">", HtmlText(message), "</p>\n");
  }
  return html;
}

// The final evaluation's figure; without one the training's, and says so.
std::string OutcomeCard(const json& summary, const char* name,
                        const std::string& what, std::string (*text)(double)) {
  const double final = NumberAt(summary, {name});
  const double training = NumberAt(summary, {"training", name});
  if (!std::isfinite(final) && !std::isfinite(training)) return "";
  if (!std::isfinite(final)) return Card(text(training), what, "in training");
  return Card(text(final), what,
              std::isfinite(training) ? "training: " + text(training) : "");
}

std::string Cards(const json& summary) {
  std::string html = "<div class=\"cards\">\n";
  html += OutcomeCard(summary, "success_rate", "success, final evaluation",
                      Percent);
  html += OutcomeCard(summary, "episode_return_mean",
                      "return, final evaluation", Compact);
  html += Card(Count(summary, "environment_steps"), "environment steps",
               Count(summary, "train_steps") + " train steps");
  html += Card(Count(summary, "environment_steps_per_second"),
               "environment steps per second");
  html += Card(Duration(NumberAt(summary, {"seconds"})), "of training");
  const double limit = NumberAt(summary, {"policy_lag", "limit"});
  html += Card(
      absl::StrCat(Compact(NumberAt(summary, {"policy_lag", "mean"})), " / ",
                   Compact(NumberAt(summary, {"policy_lag", "max"}))),
      "policy lag: mean / largest",
      std::isfinite(limit) ? "limit " + Compact(limit) : "");
  html +=
      Card(Compact(SumOf(ValueAt(summary, {"drops"}))), "trajectories dropped");
  html += Card(Compact(SumOf(ValueAt(summary, {"restarts"}))),
               "processes replaced");
  return html + "</div>\n";
}

// "busy" first, in the calm color; then what a stage waited for.
std::vector<std::pair<std::string, double>> Causes(const json& stage) {
  std::vector<std::pair<std::string, double>> causes;
  for (const auto& [cause, share] : stage.items()) {
    if (share.is_number()) causes.emplace_back(cause, share.get<double>());
  }
  std::stable_partition(causes.begin(), causes.end(),
                        [](const auto& c) { return c.first == "busy"; });
  return causes;
}

std::string IdleBar(const std::string& name, const json& stage) {
  std::string bar, legend;
  int color = 1;
  for (const auto& [cause, share] : Causes(stage)) {
    const int s = cause == "busy" ? 0 : color++ % 4 + 1;
    absl::StrAppendFormat(&bar, R"(<i class="s%d" style="width:%.2f%%"></i>)",
                          s, 100 * std::clamp(share, 0.0, 1.0));
    absl::StrAppendFormat(
        &legend, R"(<span><i class="key block s%d"></i>%s <b>%s</b></span>)", s,
        HtmlText(Words(cause)), Percent(share));
  }
  return absl::StrCat("<div class=\"stage\"><div>", HtmlText(name),
                      "</div><div><div class=\"bar\">", bar,
                      "</div><p class=\"legend\">", legend,
                      "</p></div></div>\n");
}

std::string IdleSection(const json& summary) {
  std::string html =
      "<h2>Where each stage's time went</h2>\n"
      "<div class=\"panel\">\n";
  const json& idle = ValueAt(summary, {"idle"});
  bool any = false;
  for (const char* const stage : {"rollout", "buffer", "learner"}) {
    const json& shares = ValueAt(idle, {stage});
    if (!shares.is_object() || shares.empty()) continue;
    html += IdleBar(stage, shares);
    any = true;
  }
  if (!any) html += "<p class=\"none\">no data</p>";
  return html + "</div>\n";
}

using Row = std::vector<std::string>;

std::string Table(const Row& head, const std::vector<Row>& rows) {
  std::string html = "<div class=\"panel\"><table><tr>";
  for (const std::string& cell : head) {
    absl::StrAppend(&html, "<th>", HtmlText(cell), "</th>");
  }
  html += "</tr>\n";
  for (const Row& row : rows) {
    html += "<tr>";
    for (const std::string& cell : row) {
      absl::StrAppend(&html, "<td>", HtmlText(cell), "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string EvaluationSection(const json& summary) {
  std::vector<Row> rows;
  for (const json& e : ValueAt(summary, {"evaluations"})) {
    const json& is_final = ValueAt(e, {"final"});
    rows.push_back({TextAt(e, {"checkpoint"}), Count(e, "policy_version"),
                    Count(e, "environment_steps"), Count(e, "episodes"),
                    Compact(NumberAt(e, {"episode_return_mean"})),
                    Compact(NumberAt(e, {"episode_return_std"})),
                    Percent(NumberAt(e, {"success_rate"})),
                    is_final.is_boolean() && is_final ? "final" : ""});
  }
  if (rows.empty()) return "";
  return "<h2>Evaluations: mean action, held-out seeds</h2>\n" +
         Table({"checkpoint", "policy version", "environment steps", "episodes",
                "return", "± standard deviation", "success", ""},
               rows);
}

std::string SecondsText(double seconds) {
  return std::isfinite(seconds) ? absl::StrFormat("%.2f s", seconds) : "–";
}

std::string RestartSection(const json& summary) {
  std::vector<Row> rows;
  for (const json& r : ValueAt(summary, {"recoveries"})) {
    rows.push_back({absl::StrCat(TextAt(r, {"role"}), " ", Count(r, "index")),
                    TextAt(r, {"reason"}),
                    SecondsText(NumberAt(r, {"seconds_to_rejoin"})),
                    SecondsText(NumberAt(r, {"seconds_to_produce"})),
                    Count(r, "train_steps_lost")});
  }
  std::string html = "<h2>Processes replaced</h2>\n";
  if (rows.empty()) {
    return html + "<div class=\"panel\"><p class=\"none\">none</p></div>\n";
  }
  return html + Table({"process", "reason", "until it was back",
                       "until it produced", "train steps lost"},
                      rows);
}

std::string DropSection(const json& summary) {
  std::vector<Row> rows;
  for (const auto& [reason, count] : ValueAt(summary, {"drops"}).items()) {
    if (count.is_number() && count.get<double>() != 0) {
      rows.push_back({Words(reason), Compact(count.get<double>())});
    }
  }
  if (rows.empty()) return "";
  return "<h2>Trajectories dropped</h2>\n" +
         Table({"reason", "trajectories"}, rows);
}

std::string JobSection(const json& summary, const std::string& job_yaml) {
  std::string versions;
  for (const auto& [what, version] : ValueAt(summary, {"versions"}).items()) {
    if (!version.is_string()) continue;
    absl::StrAppend(&versions, versions.empty() ? "" : " · ", what, " ",
                    version.get<std::string>());
  }
  return absl::StrCat(
      "<h2>Job</h2>\n<div class=\"panel\"><details open><summary>job.yaml, "
      "every default filled in</summary><pre>",
      HtmlText(job_yaml), "</pre></details></div>\n<p class=\"sub\">",
      HtmlText(versions), "</p>\n");
}

std::string Section(const char* title, const std::string& charts) {
  if (charts.empty()) return "";
  return absl::StrCat("<h2>", title, "</h2>\n<div class=\"charts\">\n", charts,
                      "</div>\n");
}

}  // namespace

std::string ReportHtml(const json& summary, const MetricsTable& metrics,
                       const std::string& job_yaml) {
  return absl::StrCat(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n<title>",
      HtmlText(TextAt(summary, {"name"})), " · Flywheel</title>\n<style>",
      kReportStyle, "</style></head>\n<body>\n", Heading(summary),
      Cards(summary), Section("How it went", OutcomeCharts(summary, metrics)),
      IdleSection(summary), RestartSection(summary), DropSection(summary),
      EvaluationSection(summary),
      Section("Inside the train steps", TrainStepCharts(metrics)),
      JobSection(summary, job_yaml), "</body></html>\n");
}

}  // namespace flywheel
