#include "services/learner/advantages.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flywheel {
namespace {

struct ChunkWeights {
  double rho = 1;  // Of the chunk's own temporal difference.
  double c = 1;    // Of what was learned about the chunks after it.
};

// Both estimators are one backward recursion over each trajectory, of the gap
// between value target and value:
//   gap_t = rho_t * delta_t + discount_t * c_t * gap_{t+1}.
// GAE is the case rho = 1, c = lambda.
template <typename WeightsOf>
ValueTargets Backward(const ValueProblem& problem, const WeightsOf& weights) {
  const std::size_t chunks = problem.reward.size();
  ValueTargets targets{.advantage = std::vector<float>(chunks),
                       .value_target = std::vector<float>(chunks)};
  std::size_t end = chunks;
  for (std::size_t i = problem.num_chunks.size(); i-- > 0;) {
    const std::size_t begin = end - problem.num_chunks[i];
    double next_value = problem.end[i] == TrajectoryEnd::kTerminated
                            ? 0.0
                            : problem.final_value[i];
    double next_gap = 0;
    for (std::size_t t = end; t-- > begin;) {
      const double value = problem.value[t];
      const double discount =
          std::pow(problem.discount, problem.steps_executed[t]);
      const double delta = problem.reward[t] + discount * next_value - value;
      const ChunkWeights w = weights(t);
      targets.advantage[t] =
          static_cast<float>(delta + discount * problem.lambda * next_gap);
      next_gap = w.rho * delta + discount * w.c * next_gap;
      next_value = value;
      targets.value_target[t] = static_cast<float>(value + next_gap);
    }
    end = begin;
  }
  return targets;
}

}  // namespace

ValueTargets GaeTargets(const ValueProblem& problem) {
  return Backward(problem, [&](std::size_t) {
    return ChunkWeights{.rho = 1, .c = problem.lambda};
  });
}

ValueTargets VtraceTargets(const ValueProblem& problem,
                           std::span<const float> log_ratio,
                           const VtraceLimits& limits) {
  return Backward(problem, [&](std::size_t t) {
    const double ratio = std::exp(static_cast<double>(log_ratio[t]));
    return ChunkWeights{.rho = std::min(limits.rho_max, ratio),
                        .c = problem.lambda * std::min(limits.c_max, ratio)};
  });
}

}  // namespace flywheel
