#include "services/policy/policy.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/policy/gaussian_head.h"
#include "services/policy/instruction_tokenizer.h"
#include "services/policy/mlp_policy.h"
#include "services/policy/observation_statistics.h"
#include "services/policy/parameter_arena.h"
#include "services/policy/policy_network.h"

namespace flywheel {
namespace {

[[noreturn]] void Abort(std::string_view sentence) {
  std::fprintf(stderr, "Policy: %.*s\n", static_cast<int>(sentence.size()),
               sentence.data());
  std::abort();
}

template <typename T>
torch::Tensor View(std::span<const T> values, torch::IntArrayRef shape,
                   torch::ScalarType type) {
  return torch::from_blob(const_cast<T*>(values.data()), shape,
                          torch::TensorOptions(type));
}

void CopyOut(const torch::Tensor& tensor, std::span<float> target) {
  const torch::Tensor dense = tensor.contiguous();
  const float* first = dense.data_ptr<float>();
  std::copy(first, first + target.size(), target.begin());
}

// Any network, by torch's own operations.
class NetworkPolicy final : public Policy {
 public:
  NetworkPolicy(const PolicySpec& spec, const PolicyShape& shape,
                std::shared_ptr<PolicyNetwork> network)
      : spec_(spec),
        shape_(shape),
        network_(std::move(network)),
        arena_(*network_),
        normalizer_(IdentityNormalizer(shape.state_size)) {}

  absl::Status Load(const PolicySnapshot& snapshot) override {
    if (snapshot.kind != spec_.kind) {
      return absl::InvalidArgumentError(
          absl::StrCat("the snapshot's policy is ", snapshot.kind,
                       ", the job's is ", spec_.kind));
    }
    absl::StatusOr<ObservationNormalizer> normalizer =
        NormalizerFrom(snapshot, shape_.state_size);
    if (!normalizer.ok()) return normalizer.status();
    const absl::Status copied = arena_.CopyFrom(snapshot);
    if (!copied.ok()) return copied;
    normalizer_ = *std::move(normalizer);
    loaded_ = true;
    return absl::OkStatus();
  }

  void Act(const ActingRows& rows) override {
    CheckActingRows(rows, shape_);
    if (!loaded_) Abort("Act() before the first Load()");
    const c10::InferenceMode inference;
    const PolicyOutputs outputs = network_->forward(Inputs(rows));
    const std::vector<int64_t> chunk = {rows.rows, shape_.action_chunk,
                                        shape_.action_size};
    const torch::Tensor action =
        rows.noise.empty()
            ? outputs.mean
            : SampleAction(outputs.mean, outputs.log_std,
                           View(rows.noise, chunk, torch::kFloat32));
    CopyOut(action, rows.actions);
    CopyOut(StepLogProbability(outputs.mean, outputs.log_std, action),
            rows.log_probability);
    CopyOut(outputs.value, rows.value);
  }

  const PolicyShape& shape() const override { return shape_; }

 private:
  PolicyInputs Inputs(const ActingRows& rows) {
    PolicyInputs inputs;
    if (shape_.has_image()) {
      inputs.image =
          View(rows.image,
               {rows.rows, shape_.image[0], shape_.image[1], shape_.image[2]},
               torch::kUInt8);
    }
    if (shape_.state_size > 0) {
      states_.assign(rows.state.begin(), rows.state.end());
      if (spec_.normalize_observations) Normalize(normalizer_, states_);
      inputs.state = View(std::span<const float>(states_),
                          {rows.rows, shape_.state_size}, torch::kFloat32);
    }
    if (shape_.has_instruction) {
      tokens_.clear();
      for (int64_t row = 0; row < rows.rows; ++row) {
        const InstructionTokens tokens = TokenizeInstruction(
            rows.instructions.empty() ? std::string_view()
                                      : rows.instructions[row]);
        tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
      }
      inputs.instruction = View(std::span<const int64_t>(tokens_),
                                {rows.rows, kInstructionTokens}, torch::kInt64);
    }
    return inputs;
  }

  const PolicySpec spec_;
  const PolicyShape shape_;
  const std::shared_ptr<PolicyNetwork> network_;
  ParameterArena arena_;
  ObservationNormalizer normalizer_;
  bool loaded_ = false;

  // Reused from call to call.
  std::vector<float> states_;
  std::vector<int64_t> tokens_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Policy>> Policy::Create(
    const PolicySpec& spec, const PolicyShape& shape) {
  absl::StatusOr<std::shared_ptr<PolicyNetwork>> network =
      MakePolicyNetwork(spec, shape, /*seed=*/0);
  if (!network.ok()) return network.status();
  if (spec.kind == "mlp_gaussian") {
    return std::make_unique<MlpPolicy>(spec, shape);
  }
  return std::make_unique<NetworkPolicy>(spec, shape, *std::move(network));
}

void SetPolicyThreads(int threads) { at::set_num_threads(threads); }

}  // namespace flywheel
