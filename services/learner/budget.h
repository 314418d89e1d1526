#pragma once

#include <algorithm>
#include <cstdint>

#include "services/core/job_spec.h"

namespace flywheel {

// What training has used up so far, resumes included.
struct Usage {
  int64_t environment_steps = 0;
  int64_t train_steps = 0;
  double seconds = 0;
};

// Share of the budget used, by the limit that is nearest its end; at 1 and
// above training is over. 0 without a limit of these three kinds.
inline double BudgetShare(const BudgetSpec& budget, const Usage& usage) {
  double share = 0;
  if (budget.environment_steps.has_value()) {
    share = std::max(share, static_cast<double>(usage.environment_steps) /
                                static_cast<double>(*budget.environment_steps));
  }
  if (budget.train_steps.has_value()) {
    share = std::max(share, static_cast<double>(usage.train_steps) /
                                static_cast<double>(*budget.train_steps));
  }
  if (budget.seconds.has_value()) {
    share = std::max(share, usage.seconds / *budget.seconds);
  }
  return share;
}

}  // namespace flywheel
