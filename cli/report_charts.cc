#include "cli/report_charts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "cli/json_value.h"
#include "cli/svg_chart.h"

namespace flywheel {
namespace {

constexpr char kTraining[] = "training";
constexpr char kSteps[] = "environment_steps";
constexpr char kStepsLabel[] = "environment steps";

std::vector<CurvePoint> Evaluations(const nlohmann::json& summary,
                                    const char* name) {
  std::vector<CurvePoint> points;
  for (const nlohmann::json& evaluation : ValueAt(summary, {"evaluations"})) {
    const CurvePoint point{NumberAt(evaluation, {kSteps}),
                           NumberAt(evaluation, {name})};
    if (std::isfinite(point.x) && std::isfinite(point.y)) {
      points.push_back(point);
    }
  }
  return points;
}

// Environment steps per second between points far enough apart to be smooth.
std::vector<CurvePoint> Throughput(const MetricsTable& metrics) {
  const std::vector<CurvePoint> steps =
      metrics.Curve(kTraining, "seconds", kSteps);
  const std::size_t stride = std::max<std::size_t>(1, steps.size() / 120);
  std::vector<CurvePoint> rates;
  for (std::size_t i = stride; i < steps.size(); i += stride) {
    const double seconds = steps[i].x - steps[i - stride].x;
    const double trained = steps[i].y - steps[i - stride].y;
    if (seconds > 0 && trained >= 0) {
      rates.push_back({steps[i].x, trained / seconds});
    }
  }
  return rates;
}

Chart OutcomeChart(const nlohmann::json& summary, const MetricsTable& metrics,
                   const char* title, const char* name) {
  return {.title = title,
          .x_label = kStepsLabel,
          .series = {{.name = "training",
                      .points = metrics.Curve(kTraining, kSteps, name),
                      .color = 0},
                     {.name = "evaluation",
                      .points = Evaluations(summary, name),
                      .mark = Mark::kDots,
                      .color = 1}}};
}

bool HasPoints(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(),
                     [](const ChartSeries& s) { return !s.points.empty(); });
}

std::string IfMeasured(const Chart& chart) {
  return HasPoints(chart) ? SvgChart(chart) : "";
}

Chart PolicyLagChart(const nlohmann::json& summary,
                     const MetricsTable& metrics) {
  Chart chart{
      .title = "Policy lag",
      .x_label = kStepsLabel,
      .series = {{.name = "largest of a train step",
                  .points = metrics.Curve(kTraining, kSteps, "policy_lag_max"),
                  .color = 4,
                  .stand = Stand::kMax},
                 {.name = "mean of a train step",
                  .points = metrics.Curve(kTraining, kSteps, "policy_lag_mean"),
                  .color = 0}},
      .y_min = 0};
  const double limit = NumberAt(summary, {"policy_lag", "limit"});
  if (std::isfinite(limit)) chart.limit = {"limit", limit};
  return chart;
}

// A number of each train step that metrics.jsonl holds.
struct TrainStepNumber {
  const char* title;
  const char* name;
  std::optional<double> y_min;
};
constexpr TrainStepNumber kTrainStepNumbers[] = {
    {"Loss", "loss", {}},
    {"Policy loss", "policy_loss", {}},
    {"Value loss", "value_loss", 0},
    {"Explained variance of the returns", "explained_variance", {}},
    {"KL divergence from the behavior policy", "kl", 0},
    {"Entropy", "entropy", {}},
    {"Share of importance ratios clipped", "clip_fraction", 0},
    {"Effective share of the samples", "effective_sample_share", 0},
    {"Gradient norm", "gradient_norm", 0},
    {"Logarithm of the standard deviation", "log_std_mean", {}},
    {"Age of the samples, seconds", "sample_age_seconds_mean", 0},
    {"Learning rate", "learning_rate", 0},
};

// One number of a train step over environment steps.
std::string NumberChart(const MetricsTable& metrics, const char* title,
                        const char* name, std::optional<double> y_min) {
  return IfMeasured(
      {.title = title,
       .x_label = kStepsLabel,
       .series = {{.name = "train step",
                   .points = metrics.Curve(kTraining, kSteps, name)}},
       .y_min = y_min});
}

}  // namespace

std::string OutcomeCharts(const nlohmann::json& summary,
                          const MetricsTable& metrics) {
  Chart success =
      OutcomeChart(summary, metrics, "Success rate", "success_rate");
  success.percent = true;
  success.y_min = 0;
  success.y_max = 1;
  std::string html = IfMeasured(success);
  html += SvgChart(OutcomeChart(summary, metrics, "Return of an episode",
                                "episode_return_mean"));
  html += SvgChart(PolicyLagChart(summary, metrics));
  html += SvgChart({.title = "Environment steps per second",
                    .x_label = "seconds of training",
                    .series = {{.name = "trained on",
                                .points = Throughput(metrics),
                                .color = 2}},
                    .y_min = 0});
  return html;
}

std::string TrainStepCharts(const MetricsTable& metrics) {
  std::string html = IfMeasured(
      {.title = "Imitation loss",
       .x_label = "seconds",
       .series = {{.name = "imitation",
                   .points = metrics.Curve("imitation", "seconds", "loss"),
                   .color = 3}}});
  for (const auto& [title, name, y_min] : kTrainStepNumbers) {
    html += NumberChart(metrics, title, name, y_min);
  }
  return html;
}

}  // namespace flywheel
