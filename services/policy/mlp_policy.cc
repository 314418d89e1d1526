#include "services/policy/mlp_policy.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numbers>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/policy/snapshot_tensors.h"

namespace flywheel {
namespace {

std::vector<int64_t> Sizes(const PolicySpec& spec, int64_t inputs,
                           int64_t outputs) {
  std::vector<int64_t> sizes = {inputs};
  sizes.insert(sizes.end(), spec.hidden_sizes.begin(), spec.hidden_sizes.end());
  sizes.push_back(outputs);
  return sizes;
}

}  // namespace

Activation ActivationNamed(const std::string& name) {
  if (name == "tanh") return Activation::kTanh;
  if (name == "relu") return Activation::kRelu;
  if (name == "elu") return Activation::kElu;
  return Activation::kNone;
}

MlpPolicy::MlpPolicy(const PolicySpec& spec, const PolicyShape& shape)
    : spec_(spec),
      weights_{
          .shape = shape,
          .actor = PackedMlp(Sizes(spec, shape.state_size,
                                   shape.action_chunk * shape.action_size),
                             ActivationNamed(spec.activation)),
          .critic = PackedMlp(Sizes(spec, shape.state_size, 1),
                              ActivationNamed(spec.activation)),
          .log_std = std::vector<float>(shape.action_chunk * shape.action_size),
          .normalizer = IdentityNormalizer(shape.state_size)} {}

absl::Status MlpPolicy::Load(const PolicySnapshot& snapshot) {
  if (snapshot.kind != spec_.kind) {
    return absl::InvalidArgumentError(
        absl::StrCat("the snapshot's policy is ", snapshot.kind,
                     ", the job's is ", spec_.kind));
  }
  Weights next = weights_;
  FLYWHEEL_RETURN_IF_ERROR(next.actor.Load(snapshot, "actor"));
  FLYWHEEL_RETURN_IF_ERROR(next.critic.Load(snapshot, "critic"));
  const int64_t chunk[] = {next.shape.action_chunk, next.shape.action_size};
  FLYWHEEL_RETURN_IF_ERROR(
      CopyTensor(snapshot, "log_std", chunk, next.log_std.data()));
  absl::StatusOr<ObservationNormalizer> normalizer =
      NormalizerFrom(snapshot, next.shape.state_size);
  if (!normalizer.ok()) return normalizer.status();
  next.normalizer = *std::move(normalizer);
  next.std.clear();
  next.inverse_std.clear();
  for (const float log_std : next.log_std) {
    next.std.push_back(std::exp(log_std));
    next.inverse_std.push_back(std::exp(-log_std));
  }
  next.loaded = true;
  weights_ = std::move(next);
  return absl::OkStatus();
}

void MlpPolicy::Act(const ActingRows& rows) {
  CheckActingRows(rows, weights_.shape);
  if (!weights_.loaded) {
    std::fprintf(stderr, "Policy::Act() before the first Load()\n");
    std::abort();
  }
  states_.assign(rows.state.begin(), rows.state.end());
  if (spec_.normalize_observations) Normalize(weights_.normalizer, states_);

  const std::span<const float> value =
      weights_.critic.Forward(states_, rows.rows);
  for (int64_t row = 0; row < rows.rows; ++row) {
    rows.value[row] = value[row * weights_.critic.output_stride()];
  }

  const float half_log_two_pi =
      static_cast<float>(0.5 * std::log(2 * std::numbers::pi));
  const std::span<const float> mean =
      weights_.actor.Forward(states_, rows.rows);
  const int64_t action_size = weights_.shape.action_size;
  const int64_t chunk = weights_.shape.action_chunk * action_size;
  for (int64_t row = 0; row < rows.rows; ++row) {
    for (int64_t i = 0; i < chunk; ++i) {
      const float m = mean[row * weights_.actor.output_stride() + i];
      const float noise =
          rows.noise.empty() ? 0.0f : rows.noise[row * chunk + i];
      const float action = m + weights_.std[i] * noise;
      const float z = (action - m) * weights_.inverse_std[i];
      const float log_density =
          -0.5f * z * z - (weights_.log_std[i] + half_log_two_pi);
      rows.actions[row * chunk + i] = action;
      float& sum = rows.log_probability[(row * chunk + i) / action_size];
      sum = i % action_size == 0 ? log_density : sum + log_density;
    }
  }
}

}  // namespace flywheel
