#include "cli/closing_text.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cli/json_value.h"
#include "cli/number_format.h"
#include "cli/text_checks.h"

namespace flywheel {
namespace {

using nlohmann::json;

std::string Line(const char* what, const std::string& value) {
  return absl::StrFormat("  %-18s %s\n", what, value);
}

// The final evaluation's figure and beside it the training's.
std::string OutcomeLine(const json& summary, const char* name, const char* what,
                        std::string (*text)(double)) {
  const double final = NumberAt(summary, {name});
  const double training = NumberAt(summary, {"training", name});
  if (std::isfinite(final) && std::isfinite(training)) {
    return Line(
        what, absl::StrCat(text(final), " (in training ", text(training), ")"));
  }
  if (std::isfinite(final)) return Line(what, text(final));
  return std::isfinite(training) ? Line(what, text(training) + " in training")
                                 : "";
}

std::string Count(const json& summary, const char* name) {
  const double value = NumberAt(summary, {name});
  return std::isfinite(value) ? Grouped(std::llround(value)) : "–";
}

std::string Figures(const json& summary) {
  return absl::StrCat(
      OutcomeLine(summary, "success_rate", "success", Percent),
      OutcomeLine(summary, "episode_return_mean", "return", Compact),
      Line("environment steps",
           absl::StrCat(Count(summary, "environment_steps"), ", ",
                        Count(summary, "environment_steps_per_second"),
                        " per second")),
      Line("train steps", Count(summary, "train_steps")),
      Line("policy lag",
           absl::StrCat("mean ",
                        Compact(NumberAt(summary, {"policy_lag", "mean"})),
                        ", largest ",
                        Compact(NumberAt(summary, {"policy_lag", "max"})))));
}

// The settings that double each limit a run may have reached.
std::string DoubledBudget(const BudgetSpec& budget) {
  std::string text;
  if (budget.environment_steps) {
    absl::StrAppend(&text, " --set budget.environment_steps=",
                    *budget.environment_steps * 2);
  }
  if (budget.train_steps) {
    absl::StrAppend(&text,
                    " --set budget.train_steps=", *budget.train_steps * 2);
  }
  if (budget.seconds) {
    absl::StrAppend(&text, " --set budget.seconds=", *budget.seconds * 2);
  }
  return text;
}

std::string NextSteps(const std::string& state, const BudgetSpec& budget,
                      const RunFolder& folder, const std::string& command) {
  const std::string run = ShellQuoted(folder.path().string());
  std::error_code error;
  const bool trained = std::filesystem::exists(folder.checkpoints(), error) &&
                       !std::filesystem::is_empty(folder.checkpoints(), error);
  std::string text;
  if (trained) absl::StrAppend(&text, "  ", command, " eval ", run, "\n");
  absl::StrAppend(&text, "  ", command, " train --resume ", run,
                  state == "SUCCEEDED" ? DoubledBudget(budget) : "", "\n");
  return text;
}

}  // namespace

std::string ClosingText(const json& summary, const BudgetSpec& budget,
                        const RunFolder& folder, const std::string& command) {
  const std::string state = TextAt(summary, {"state"});
  return absl::StrCat(TextAt(summary, {"name"}), ": ", state, " after ",
                      Duration(NumberAt(summary, {"seconds"})),
                      " of training\n", Figures(summary),
                      Line("report", folder.report().string()), "What next:\n",
                      NextSteps(state, budget, folder, command));
}

std::string CommandName() {
  const char* const home = std::getenv("FLYWHEEL_HOME");
  if (home == nullptr) return "flywheel";
  const std::filesystem::path launcher =
      std::filesystem::path(home) / "flywheel";
  std::error_code error;
  const auto near = std::filesystem::proximate(launcher, error).string();
  if (error || near.starts_with("..")) return launcher.string();
  return near.starts_with("/") ? near : "./" + near;
}

}  // namespace flywheel
