#pragma once

#include <deque>

#include "absl/time/time.h"
#include "services/core/job_status.h"

namespace flywheel {

// How fast a run goes now: differences over the newest half minute of what the
// learner reported. Not thread-safe.
class ProgressMeter {
 public:
  // `now` must not go back.
  void Observe(absl::Time now, const LearnerStatus& learner);

  // NaN until two reports are there that differ in time.
  double environment_steps_per_second() const;

  // Until the budget is used, at this speed; NaN if that cannot be told.
  double seconds_left() const;

 private:
  struct Report {
    absl::Time time;
    double environment_steps = 0;
    double progress = 0;
  };

  std::deque<Report> reports_;
};

}  // namespace flywheel
