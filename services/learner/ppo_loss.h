#pragma once

#include <torch/torch.h>

#include "services/core/job_spec.h"
#include "services/policy/policy_network.h"

namespace flywheel {

// What the loss compares the network's outputs with, one row per chunk.
struct PpoTargets {
  torch::Tensor action;          // float32 [n, action_chunk, action_size]
  torch::Tensor steps_executed;  // int64 [n]
  torch::Tensor behavior_log_probability;  // float32 [n]
  torch::Tensor behavior_value;            // float32 [n]
  torch::Tensor advantage;                 // float32 [n]
  torch::Tensor value_target;              // float32 [n]
};

// Scalars, still on the device. Only `total` carries gradients.
struct PpoLoss {
  torch::Tensor total;  // policy + value_cost * value - entropy_cost * entropy
  torch::Tensor policy;
  torch::Tensor value;    // Half the mean squared error.
  torch::Tensor entropy;  // Nats per environment step.
  torch::Tensor clip_fraction;
  torch::Tensor kl;  // k3 estimate of KL(behavior, target).
};

// The clipped objective of PPO. Uses clip_range, value_clip_range (0: value
// loss unclipped), value_cost and entropy_cost of `spec`.
PpoLoss ComputePpoLoss(const PolicyOutputs& outputs, const PpoTargets& targets,
                       const AlgorithmSpec& spec);

// How far the target policy is from the behavior policy, from
// log_ratio = log target - log behavior [n], raw.
struct RatioDiagnostics {
  double kl_k1 = 0;
  double kl_k3 = 0;
  double effective_sample_share = 1;  // (sum r)^2 / (n sum r^2)
};
RatioDiagnostics DiagnoseRatios(const torch::Tensor& log_ratio);

}  // namespace flywheel
