#include "cli/progress_line.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/number_format.h"
#include "cli/summary.h"

namespace flywheel {
namespace {

constexpr int kBarColumns = 20;
constexpr int kPhaseColumns = 10;

std::string LearnerPhaseText(const Job& job) {
  switch (job.learner->phase) {
    case LearnerPhase::kStarting:
      return "starting";
    case LearnerPhase::kCollecting:
      return absl::StrCat("collecting ",
                          job.buffer ? job.buffer->demonstrations : 0, "/",
                          job.spec.pretraining.episodes);
    case LearnerPhase::kImitating:
      return "imitating";
    case LearnerPhase::kTraining:
      return "training";
    case LearnerPhase::kFinished:
      return "finishing";
    case LearnerPhase::kFailed:
      return "failing";
  }
  return "running";
}

bool IsEvaluating(const Job& job) {
  return job.state == JobState::kRunning && job.evaluation && job.learner &&
         job.learner->phase == LearnerPhase::kFinished;
}

// Of the budget; once that is used, of the last evaluation.
double Progress(const Job& job) {
  if (IsEvaluating(job)) {
    return static_cast<double>(job.evaluation->episodes) /
           static_cast<double>(
               std::max<int64_t>(1, job.evaluation->episodes_total));
  }
  const double share = job.learner ? job.learner->progress : 0;
  return share > 0 ? std::min(share, 1.0) : 0;
}

// `share` of kBarColumns columns, to an eighth of one.
std::string Bar(double share) {
  static constexpr const char* kEighths[] = {" ", "▏", "▎", "▍",
                                             "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(share * kBarColumns * 8);
  std::string bar = "▕";
  for (int i = 0; i < kBarColumns; ++i) {
    bar +=
        eighths >= (i + 1) * 8 ? "█" : kEighths[std::max(0, eighths - i * 8)];
  }
  return bar + "▏";
}

std::string Padded(std::string text, int columns) {
  text.append(std::max(0, columns - Columns(text)), ' ');
  return text;
}

// Success where the task has one, else the return; "" if neither is known.
std::string OutcomeText(double success_rate, double episode_return_mean) {
  if (std::isfinite(success_rate)) return "success " + Percent(success_rate);
  if (std::isfinite(episode_return_mean)) {
    return "return " + Compact(episode_return_mean);
  }
  return "";
}

std::string LagText(const LearnerStatus& learner) {
  if (learner.policy_lag_counts.empty()) return "";
  const LagFigures lag = LagOf(learner.policy_lag_counts);
  return absl::StrFormat("lag %.1f (max %d)", lag.mean, lag.max);
}

}  // namespace

std::string PhaseText(const Job& job) {
  switch (job.state) {
    case JobState::kPending:
    case JobState::kPlacing:
      return "starting";
    case JobState::kRecovering:
      return "recovering";
    case JobState::kCancelling:
      return "stopping";
    case JobState::kPausing:
    case JobState::kPaused:
      return "paused";
    case JobState::kSucceeded:
    case JobState::kFailed:
    case JobState::kCancelled:
      return "done";
    case JobState::kRunning:
      break;
  }
  if (IsEvaluating(job)) {
    return absl::StrCat("evaluating ", job.evaluation->episodes, "/",
                        job.evaluation->episodes_total);
  }
  return job.learner ? LearnerPhaseText(job) : "starting";
}

std::vector<std::string> Figures(const Job& job, const ProgressMeter& meter) {
  std::vector<std::string> figures;
  if (!job.learner) return figures;
  const LearnerStatus& learner = *job.learner;
  const auto add = [&](std::string text) {
    if (!text.empty()) figures.push_back(std::move(text));
  };
  if (learner.environment_steps > 0) {
    add(Grouped(learner.environment_steps) + " env steps");
  }
  const double speed = meter.environment_steps_per_second();
  const bool trains = job.state == JobState::kRunning &&
                      learner.phase == LearnerPhase::kTraining;
  if (trains && std::isfinite(speed)) {
    add(Grouped(std::llround(std::max(0.0, speed))) + "/s");
  }
  if (learner.train_steps > 0) {
    add("train step " + Grouped(learner.train_steps));
  }
  add(OutcomeText(learner.success_rate, learner.episode_return_mean));
  add(LagText(learner));
  if (learner.phase == LearnerPhase::kImitating) {
    add("loss " + Compact(learner.loss));
  }
  if (trains && std::isfinite(meter.seconds_left())) {
    add(Duration(meter.seconds_left()) + " left");
  }
  return figures;
}

std::string LiveLine(const Job& job, const ProgressMeter& meter, int columns) {
  const double share = Progress(job);
  std::string line =
      absl::StrCat(Padded(PhaseText(job), kPhaseColumns),
                   absl::StrFormat("%4d%%", static_cast<int>(share * 100)));
  if (const std::string bar = " " + Bar(share);
      Columns(line) + Columns(bar) + 20 <= columns) {
    line += bar;
  }
  std::string separator = " ";
  for (const std::string& figure : Figures(job, meter)) {
    if (Columns(line) + Columns(separator) + Columns(figure) > columns) break;
    absl::StrAppend(&line, separator, figure);
    separator = " · ";
  }
  return line;
}

std::string PlainLine(const Job& job, const ProgressMeter& meter) {
  std::vector<std::string> parts = {absl::StrFormat(
      "%s: %d%%", PhaseText(job), static_cast<int>(Progress(job) * 100))};
  for (std::string& figure : Figures(job, meter)) {
    parts.push_back(std::move(figure));
  }
  return absl::StrJoin(parts, ", ");
}

std::string EvaluationLine(const Evaluation& evaluation) {
  return absl::StrCat(
      evaluation.final ? "final evaluation at " : "evaluation at ",
      Grouped(evaluation.environment_steps), " env steps: ",
      OutcomeText(evaluation.success_rate, evaluation.episode_return_mean),
      " (", evaluation.episodes, " episodes)");
}

std::string RestartLine(const Restart& restart) {
  return absl::StrCat(std::string(RoleName(restart.role)), " ", restart.index,
                      " was replaced: ", restart.reason);
}

int Columns(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

}  // namespace flywheel
