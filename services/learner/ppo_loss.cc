#include "services/learner/ppo_loss.h"

#include "services/policy/gaussian_head.h"

namespace flywheel {
namespace {

torch::Tensor ValueLoss(const torch::Tensor& value, const PpoTargets& targets,
                        double clip_range) {
  const torch::Tensor error = (value - targets.value_target).square();
  if (clip_range <= 0) return 0.5 * error.mean();
  const torch::Tensor near =
      targets.behavior_value +
      (value - targets.behavior_value).clamp(-clip_range, clip_range);
  const torch::Tensor clipped_error = (near - targets.value_target).square();
  return 0.5 * torch::maximum(error, clipped_error).mean();
}

}  // namespace

PpoLoss ComputePpoLoss(const PolicyOutputs& outputs, const PpoTargets& targets,
                       const AlgorithmSpec& spec) {
  const torch::Tensor log_ratio =
      ChunkLogProbability(outputs.mean, outputs.log_std, targets.action,
                          targets.steps_executed) -
      targets.behavior_log_probability;
  const torch::Tensor ratio = log_ratio.exp();
  const torch::Tensor plain = ratio * targets.advantage;
  const torch::Tensor clipped =
      ratio.clamp(1 - spec.clip_range, 1 + spec.clip_range) * targets.advantage;

  PpoLoss loss;
  loss.policy = -torch::minimum(plain, clipped).mean();
  loss.value = ValueLoss(outputs.value, targets, spec.value_clip_range);
  loss.entropy = MeanStepEntropy(outputs.log_std, outputs.mean.size(-1));
  loss.total = loss.policy + spec.value_cost * loss.value -
               spec.entropy_cost * loss.entropy;

  const torch::NoGradGuard no_grad;
  loss.clip_fraction = (clipped < plain).to(torch::kFloat32).mean();
  loss.kl = (ratio - 1 - log_ratio).mean();
  return loss;
}

RatioDiagnostics DiagnoseRatios(const torch::Tensor& log_ratio) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor log = log_ratio.to(torch::kFloat64);
  const torch::Tensor ratio = log.exp();
  const double n = static_cast<double>(log.numel());
  const double sum = ratio.sum().item<double>();
  return {.kl_k1 = -log.mean().item<double>(),
          .kl_k3 = (ratio - 1 - log).mean().item<double>(),
          .effective_sample_share =
              sum * sum / (n * ratio.square().sum().item<double>())};
}

}  // namespace flywheel
