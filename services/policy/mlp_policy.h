#pragma once

#include <string>
#include <vector>

#include "services/core/job_spec.h"
#include "services/policy/observation_statistics.h"
#include "services/policy/packed_mlp.h"
#include "services/policy/policy.h"

namespace flywheel {

// Acts with the weights of an MlpGaussian, without torch: at these sizes most
// of torch's time would go into calling its operations. Agrees with the network
// to rounding (about 1e-6).
class MlpPolicy final : public Policy {
 public:
  // `spec` and `shape` must have passed MakePolicyNetwork()'s checks.
  MlpPolicy(const PolicySpec& spec, const PolicyShape& shape);

  absl::Status Load(const PolicySnapshot& snapshot) override;
  void Act(const ActingRows& rows) override;
  const PolicyShape& shape() const override { return weights_.shape; }

 private:
  // What Load() replaces as a whole.
  struct Weights {
    PolicyShape shape;
    PackedMlp actor;
    PackedMlp critic;
    std::vector<float> log_std;  // [action_chunk, action_size]
    std::vector<float> std;
    std::vector<float> inverse_std;
    ObservationNormalizer normalizer;
    bool loaded = false;
  };

  const PolicySpec spec_;
  Weights weights_;
  std::vector<float> states_;  // Normalized; reused from call to call.
};

// The activation of that name: "tanh", "relu", "elu"; kNone for others.
Activation ActivationNamed(const std::string& name);

}  // namespace flywheel
