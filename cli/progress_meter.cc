#include "cli/progress_meter.h"

#include <cstddef>
#include <limits>

namespace flywheel {
namespace {

constexpr absl::Duration kWindow = absl::Seconds(30);
constexpr std::size_t kReportsMax = 1000;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace

void ProgressMeter::Observe(absl::Time now, const LearnerStatus& learner) {
  const Report report{now, static_cast<double>(learner.environment_steps),
                      learner.progress};
  // A learner that was replaced goes on from its checkpoint: a new start.
  if (!reports_.empty() &&
      (report.environment_steps < reports_.back().environment_steps ||
       report.progress < reports_.back().progress)) {
    reports_.clear();
  }
  // Environment steps begin after imitation: its seconds do not count.
  if (!reports_.empty() && reports_.back().environment_steps == 0) {
    reports_.clear();
  }
  reports_.push_back(report);
  while (now - reports_.front().time > kWindow ||
         reports_.size() > kReportsMax) {
    reports_.pop_front();
  }
}

double ProgressMeter::environment_steps_per_second() const {
  if (reports_.size() < 2) return kUnknown;
  const double seconds =
      absl::ToDoubleSeconds(reports_.back().time - reports_.front().time);
  if (seconds <= 0) return kUnknown;
  return (reports_.back().environment_steps -
          reports_.front().environment_steps) /
         seconds;
}

double ProgressMeter::seconds_left() const {
  if (reports_.size() < 2) return kUnknown;
  const double seconds =
      absl::ToDoubleSeconds(reports_.back().time - reports_.front().time);
  const double done = reports_.back().progress - reports_.front().progress;
  if (seconds <= 0 || done <= 0) return kUnknown;
  return (1 - reports_.back().progress) / done * seconds;
}

}  // namespace flywheel
