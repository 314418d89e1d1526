#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "services/policy/mlp_kernel.h"
#include "services/policy/policy_network.h"

namespace flywheel {

// Two separate perceptrons over the state vector: one for the mean action, one
// for the value, and a log-std that does not depend on the state. Orthogonal
// initial weights with gains sqrt(2), 0.01 (mean) and 1 (value).
class MlpGaussian final : public PolicyNetwork {
 public:
  static absl::StatusOr<std::shared_ptr<PolicyNetwork>> Make(
      const PolicySpec& spec, const PolicyShape& shape, uint64_t seed);

  PolicyOutputs forward(const PolicyInputs& inputs) override;

 private:
  struct Layer {
    torch::Tensor weight;  // [out, in]
    torch::Tensor bias;    // [out]
  };

  MlpGaussian(const PolicySpec& spec, const PolicyShape& shape,
              Activation activation, uint64_t seed);

  std::vector<Layer> AddLayers(const std::string& name,
                               const std::vector<int64_t>& sizes,
                               double last_gain, uint64_t seed);
  torch::Tensor Apply(const std::vector<Layer>& layers, torch::Tensor x) const;

  const PolicyShape shape_;
  const Activation activation_;
  std::vector<Layer> actor_;
  std::vector<Layer> critic_;
  torch::Tensor log_std_;  // [action_chunk, action_size]
};

}  // namespace flywheel
