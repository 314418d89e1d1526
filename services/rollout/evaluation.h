#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <vector>

#include "absl/status/statusor.h"
#include "services/rollout/acting_policy.h"
#include "sim/environment_pool.h"

namespace flywheel {

// What a policy achieves with its mean action.
struct EvaluationResult {
  std::vector<double> returns;  // Undiscounted, by episode.
  int64_t successes = 0;

  double return_mean() const;
  double return_std() const;  // Of the sample; 0 for one episode.
  double success_rate() const;
};

struct EvaluationOptions {
  int episodes = 10;
  int action_chunk = 1;
};

// Plays `episodes` whole episodes, each from a seed of its own that no training
// of any job ever uses: the same ones every time, so that results compare. The
// policy acts on batches of one row per environment of the pool.
//
// `progress` is called after every batch with the episodes finished so far.
// Cancelled if `stop` is requested; Internal if the simulation fails.
absl::StatusOr<EvaluationResult> Evaluate(
    EnvironmentPool& pool, ActingPolicy& policy,
    const EvaluationOptions& options, const std::stop_token& stop,
    const std::function<void(int64_t)>& progress);

}  // namespace flywheel
