#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "services/core/job_spec.h"
#include "services/policy/policy_shape.h"

namespace flywheel {

// One batch of what the policy sees. What a shape does not have is undefined.
struct PolicyInputs {
  torch::Tensor image;        // uint8 [n, height, width, channels]
  torch::Tensor state;        // float32 [n, state_size], normalized
  torch::Tensor instruction;  // int64 [n, kInstructionTokens]
};

// A Gaussian over a chunk of actions, and what the policy expects to earn.
struct PolicyOutputs {
  torch::Tensor mean;     // float32 [n, action_chunk, action_size]
  torch::Tensor log_std;  // float32 [action_chunk, action_size]
  torch::Tensor value;    // float32 [n], of scaled rewards
};

// A policy's weights and its forward pass.
//
// Parameters are float32 and contiguous; there are no buffers and nothing is
// random, so equal weights and inputs give equal outputs. Sizes of inputs are
// the caller's promise: torch throws if it is broken.
class PolicyNetwork : public torch::nn::Module {
 public:
  virtual PolicyOutputs forward(const PolicyInputs& inputs) = 0;
};

// Makes the network that `spec` and `shape` describe. Its initial weights
// depend on them and on `seed` alone, not on torch's global generator or on
// thread counts. Returns InvalidArgument naming the field that does not fit.
absl::StatusOr<std::shared_ptr<PolicyNetwork>> MakePolicyNetwork(
    const PolicySpec& spec, const PolicyShape& shape, uint64_t seed);

}  // namespace flywheel
