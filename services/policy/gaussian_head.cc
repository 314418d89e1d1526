#include "services/policy/gaussian_head.h"

#include <cmath>
#include <numbers>

namespace flywheel {
namespace {

const double kHalfLogTwoPi = 0.5 * std::log(2 * std::numbers::pi);

}  // namespace

torch::Tensor StepLogProbability(const torch::Tensor& mean,
                                 const torch::Tensor& log_std,
                                 const torch::Tensor& action) {
  const torch::Tensor z = (action - mean) * (-log_std).exp();
  return (-0.5 * z * z - (log_std + kHalfLogTwoPi)).sum(-1);
}

torch::Tensor ExecutedMask(const torch::Tensor& steps_executed,
                           int64_t action_chunk) {
  const torch::Tensor step = torch::arange(
      action_chunk,
      torch::TensorOptions(torch::kInt64).device(steps_executed.device()));
  return (step.unsqueeze(0) < steps_executed.unsqueeze(1)).to(torch::kFloat32);
}

torch::Tensor ChunkLogProbability(const torch::Tensor& mean,
                                  const torch::Tensor& log_std,
                                  const torch::Tensor& action,
                                  const torch::Tensor& steps_executed) {
  const torch::Tensor steps = StepLogProbability(mean, log_std, action);
  return (steps * ExecutedMask(steps_executed, steps.size(1))).sum(1);
}

torch::Tensor MeanStepEntropy(const torch::Tensor& log_std,
                              int64_t action_size) {
  return (log_std.mean() + (0.5 + kHalfLogTwoPi)) *
         static_cast<double>(action_size);
}

torch::Tensor SampleAction(const torch::Tensor& mean,
                           const torch::Tensor& log_std,
                           const torch::Tensor& noise) {
  return mean + log_std.exp() * noise;
}

}  // namespace flywheel
