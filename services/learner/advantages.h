#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flywheel {

// How a trajectory ends: decides what is worth after its last step.
enum class TrajectoryEnd : uint8_t {
  kTerminated,  // The task ended: nothing.
  kTruncated,   // Stopped from outside: the value of the final observation.
  kCut,         // The episode goes on in another trajectory: the same.
};

// What the estimators look at. Chunk arrays lie trajectory by trajectory; a
// chunk of k executed steps discounts by discount^k.
struct ValueProblem {
  std::span<const float> reward;            // [chunks]: sum of discount^i * r_i
  std::span<const int32_t> steps_executed;  // [chunks]
  std::span<const float> value;             // [chunks], of the target policy
  std::span<const int64_t> num_chunks;      // [trajectories]
  std::span<const TrajectoryEnd> end;       // [trajectories]
  std::span<const float> final_value;       // [trajectories]
  double discount = 0.99;                   // Per environment step.
  double lambda = 0.95;                     // Per chunk.
};

// What the policy and the value are trained on [chunks].
struct ValueTargets {
  std::vector<float> advantage;
  std::vector<float> value_target;
};

// Generalized advantage estimation (Schulman et al. 2015): the value target is
// advantage + value.
ValueTargets GaeTargets(const ValueProblem& problem);

struct VtraceLimits {
  double rho_max = 1;  // Of the ratio that weighs a chunk's own difference.
  double c_max = 1;    // Of the ratio that carries what came after.
};

// V-trace (Espeholt et al. 2018) with lambda in c. `log_ratio` [chunks] is log
// target - log behavior probability of each chunk. The advantage is
//   delta_t + discount_t * lambda * (v_{t+1} - V_{t+1}),
// without the chunk's own ratio, which the policy loss brings. With ratios of 1
// and limits of at least 1 both outputs equal GAE's.
ValueTargets VtraceTargets(const ValueProblem& problem,
                           std::span<const float> log_ratio,
                           const VtraceLimits& limits);

}  // namespace flywheel
