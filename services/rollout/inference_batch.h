#pragma once

#include "services/core/job_spec.h"

namespace flywheel {

// Environments whose actions are computed together: as the job says, else half
// of a rollout's where that divides (so that one half steps while the other's
// actions are computed), else all. One thread that does both gains nothing from
// halves.
inline int InferenceBatch(const ResourcesSpec& resources) {
  if (resources.inference_batch.has_value()) return *resources.inference_batch;
  const int environments = resources.environments_per_rollout;
  const bool halves =
      resources.threads_per_rollout > 0 && environments % 2 == 0;
  return halves ? environments / 2 : environments;
}

}  // namespace flywheel
