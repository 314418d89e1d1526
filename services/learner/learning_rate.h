#pragma once

#include <algorithm>
#include <cstdint>

#include "services/core/job_spec.h"

namespace flywheel {

// The learning rate once `share` of the budget is used: constant, or falling
// linearly from `initial` to 0.
inline double LearningRateAt(double initial, LearningRateSchedule schedule,
                             double share) {
  if (schedule == LearningRateSchedule::kConstant) return initial;
  return initial * (1.0 - std::clamp(share, 0.0, 1.0));
}

// Of imitation step `step` (from 1), once `share` of the imitation is done:
// warms up over 50 steps, then falls linearly to a twentieth of `initial`.
inline double ImitationLearningRateAt(double initial, int64_t step,
                                      double share) {
  const double warm_up = std::min(1.0, static_cast<double>(step) / 50);
  return initial * warm_up * (1.0 - 0.95 * std::clamp(share, 0.0, 1.0));
}

}  // namespace flywheel
