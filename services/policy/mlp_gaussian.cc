#include "services/policy/mlp_gaussian.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/policy/initial_weights.h"
#include "services/policy/mlp_policy.h"

namespace flywheel {

absl::StatusOr<std::shared_ptr<PolicyNetwork>> MlpGaussian::Make(
    const PolicySpec& spec, const PolicyShape& shape, uint64_t seed) {
  if (shape.state_size < 1) {
    return absl::InvalidArgumentError(
        "policy.kind mlp_gaussian needs a state observation, the task has "
        "none");
  }
  const Activation activation = ActivationNamed(spec.activation);
  if (activation == Activation::kNone) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.activation must be tanh, relu or elu, got ", spec.activation));
  }
  for (const int size : spec.hidden_sizes) {
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("policy.hidden_sizes must each be >= 1, got ", size));
    }
  }
  return std::shared_ptr<PolicyNetwork>(
      new MlpGaussian(spec, shape, activation, seed));
}

MlpGaussian::MlpGaussian(const PolicySpec& spec, const PolicyShape& shape,
                         Activation activation, uint64_t seed)
    : shape_(shape), activation_(activation) {
  std::vector<int64_t> sizes = {shape.state_size};
  sizes.insert(sizes.end(), spec.hidden_sizes.begin(), spec.hidden_sizes.end());
  sizes.push_back(shape.action_chunk * shape.action_size);
  actor_ = AddLayers("actor", sizes, /*last_gain=*/0.01, seed);
  sizes.back() = 1;
  critic_ = AddLayers("critic", sizes, /*last_gain=*/1.0, seed);
  log_std_ = register_parameter(
      "log_std", torch::full({shape.action_chunk, shape.action_size},
                             spec.initial_log_std, torch::kFloat32));
}

std::vector<MlpGaussian::Layer> MlpGaussian::AddLayers(
    const std::string& name, const std::vector<int64_t>& sizes,
    double last_gain, uint64_t seed) {
  const InitialWeights initial(seed);
  std::vector<Layer> layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const bool last = i + 2 == sizes.size();
    const std::string weight = absl::StrCat(name, "_", i, "_weight");
    layers.push_back(
        {.weight = register_parameter(
             weight, initial.Orthogonal(weight, sizes[i + 1], sizes[i],
                                        last ? last_gain : std::sqrt(2.0))),
         .bias = register_parameter(absl::StrCat(name, "_", i, "_bias"),
                                    torch::zeros({sizes[i + 1]}))});
  }
  return layers;
}

torch::Tensor MlpGaussian::Apply(const std::vector<Layer>& layers,
                                 torch::Tensor x) const {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    x = torch::addmm(layers[i].bias, x, layers[i].weight.t());
    if (i + 1 == layers.size()) break;
    switch (activation_) {
      case Activation::kNone:
        break;
      case Activation::kTanh:
        x = torch::tanh(x);
        break;
      case Activation::kRelu:
        x = torch::relu(x);
        break;
      case Activation::kElu:
        x = torch::elu(x);
        break;
    }
  }
  return x;
}

PolicyOutputs MlpGaussian::forward(const PolicyInputs& inputs) {
  const torch::Tensor mean = Apply(actor_, inputs.state);
  return {.mean = mean.view({-1, shape_.action_chunk, shape_.action_size}),
          .log_std = log_std_,
          .value = Apply(critic_, inputs.state).squeeze(1)};
}

}  // namespace flywheel
