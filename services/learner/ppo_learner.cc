#include "services/learner/ppo_learner.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/keyed_random.h"
#include "services/core/status_macros.h"
#include "services/learner/adamw.h"
#include "services/learner/advantages.h"
#include "services/learner/batch_checks.h"
#include "services/learner/batch_rewards.h"
#include "services/learner/chunk_rows.h"
#include "services/learner/keyed_shuffle.h"
#include "services/learner/learner_device.h"
#include "services/learner/learner_state.h"
#include "services/learner/learning_rate.h"
#include "services/learner/ppo_loss.h"
#include "services/learner/reward_scale.h"
#include "services/learner/sample_moments.h"
#include "services/policy/gaussian_head.h"
#include "services/policy/observation_statistics.h"
#include "services/policy/parameter_arena.h"
#include "services/policy/policy_network.h"
#include "services/policy/stored_policy.h"

namespace flywheel {
namespace {

// Rows of one forward pass without gradients: bounds the memory it takes.
constexpr int64_t kForwardRows = 1024;

// Imitation sees the same demonstrations again and again, so the statistics
// take up only so many of its observations: what training sees later counts.
constexpr double kImitationObservations = 20'000;
constexpr double kImitationGradientNormMax = 1.0;

std::vector<float> ToVector(const torch::Tensor& tensor) {
  const torch::Tensor host = tensor.cpu().contiguous();
  const float* first = host.data_ptr<float>();
  return {first, first + host.numel()};
}

class PpoLearnerOnTorch final : public PpoLearner {
 public:
  PpoLearnerOnTorch(const Options& options, torch::Device device,
                    std::shared_ptr<PolicyNetwork> network)
      : options_(options),
        device_(device),
        network_(std::move(network)),
        arena_(*network_, device),
        optimizer_(arena_.parameters(), arena_.gradients(),
                   {.beta1 = options.algorithm.adam_beta1,
                    .beta2 = options.algorithm.adam_beta2,
                    .epsilon = options.algorithm.adam_epsilon,
                    .weight_decay = options.algorithm.weight_decay}),
        statistics_(options.shape.state_size) {}

  absl::StatusOr<TrainResult> Train(const TrainBatch& batch,
                                    double budget_share) override try {
    FLYWHEEL_RETURN_IF_ERROR(CheckTrainBatch(batch, options_.shape));
    TrainResult result;
    result.learning_rate =
        LearningRateAt(options_.algorithm.learning_rate,
                       options_.algorithm.learning_rate_schedule, budget_share);
    CountLag(batch, result);
    const ObservationNormalizer normalizer = Normalizer();
    ChunkRows rows = MakeChunkRows(batch, Rules(normalizer));
    SetTargets(batch, normalizer, rows, result);
    FLYWHEEL_RETURN_IF_ERROR(RunEpochs(rows, result));
    MergeStates(batch.state);
    ++version_.value;
    return result;
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("train step: ", error.what()));
  }

  absl::StatusOr<ImitationResult> Imitate(const ImitationBatch& batch,
                                          double share) override try {
    FLYWHEEL_RETURN_IF_ERROR(CheckImitationBatch(batch, options_.shape));
    if (statistics_.count() < kImitationObservations) MergeStates(batch.state);
    ImitationResult result = ImitateOnce(batch, share);
    if (std::isfinite(result.loss + result.gradient_norm)) return result;
    return absl::InternalError(absl::StrCat("the loss of imitation step ",
                                            imitation_steps_,
                                            " is not finite: ", result.loss));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("imitation: ", error.what()));
  }

  void FinishImitation() override { optimizer_.Reset(); }

  PolicyVersion version() const override { return version_; }

  PolicySnapshotPtr Snapshot() const override {
    auto snapshot = std::make_shared<PolicySnapshot>();
    snapshot->lineage = options_.lineage;
    snapshot->version = version_;
    snapshot->parent = version_.value - 1;
    snapshot->kind = options_.policy.kind;
    snapshot->tensors = arena_.tensors();
    snapshot->bytes = arena_.Bytes();
    AppendNormalizer(Normalizer(), *snapshot);
    if (options_.checksum) {
      snapshot->crc32c = options_.checksum(snapshot->bytes);
    }
    return snapshot;
  }

  std::vector<std::byte> SaveState() const override;
  absl::Status LoadState(std::span<const std::byte> state) override;

 private:
  // The present version's, as its snapshot has it.
  ObservationNormalizer Normalizer() const {
    return options_.policy.normalize_observations
               ? statistics_.Normalizer()
               : IdentityNormalizer(options_.shape.state_size);
  }

  InputRules Rules(const ObservationNormalizer& normalizer) const {
    return {.shape = options_.shape,
            .normalizer =
                options_.policy.normalize_observations ? &normalizer : nullptr,
            .device = device_};
  }

  void MergeStates(const torch::Tensor& states) {
    if (!states.defined()) return;
    const torch::Tensor dense = states.contiguous();
    statistics_.Merge(std::span(dense.data_ptr<float>(),
                                static_cast<std::size_t>(dense.numel())));
  }

  void CountLag(const TrainBatch& batch, TrainResult& result) const {
    result.chunks = static_cast<int64_t>(batch.steps_executed.size());
    result.environment_steps = static_cast<int64_t>(batch.reward.size());
    double sum = 0;
    for (const int64_t version : batch.behavior_version) {
      const int64_t lag = PolicyLag({version}, version_);
      sum += static_cast<double>(lag);
      result.policy_lag_max = std::max(result.policy_lag_max, lag);
    }
    result.policy_lag_mean = sum / static_cast<double>(result.chunks);
  }

  // Values, and log-probabilities if there are actions, by the present weights.
  struct Evaluation {
    torch::Tensor value;
    torch::Tensor log_probability;
  };
  Evaluation Evaluate(const PolicyInputs& inputs, int64_t rows,
                      const PpoTargets& targets) {
    const torch::NoGradGuard no_grad;
    std::vector<torch::Tensor> values;
    std::vector<torch::Tensor> log_probabilities;
    for (int64_t first = 0; first < rows; first += kForwardRows) {
      const int64_t count = std::min(kForwardRows, rows - first);
      const PolicyOutputs outputs =
          network_->forward(NarrowInputs(inputs, first, count));
      values.push_back(outputs.value);
      if (!targets.action.defined()) continue;
      log_probabilities.push_back(ChunkLogProbability(
          outputs.mean, outputs.log_std, targets.action.narrow(0, first, count),
          targets.steps_executed.narrow(0, first, count)));
    }
    return {.value = torch::cat(values),
            .log_probability = log_probabilities.empty()
                                   ? torch::Tensor()
                                   : torch::cat(log_probabilities)};
  }

  // Advantages and value targets, by the weights of the present version.
  void SetTargets(const TrainBatch& batch,
                  const ObservationNormalizer& normalizer, ChunkRows& rows,
                  TrainResult& result) {
    const AlgorithmSpec& algorithm = options_.algorithm;
    RewardScale* scale = algorithm.scale_rewards ? &reward_scale_ : nullptr;
    if (scale != nullptr) MergeReturns(batch, algorithm.discount, *scale);
    result.reward_scale = scale == nullptr ? 1 : scale->factor();
    const std::vector<float> rewards =
        ChunkRewards(batch, algorithm.discount, scale);

    const Evaluation now = Evaluate(rows.inputs, rows.size(), rows.targets);
    const int64_t trajectories = static_cast<int64_t>(batch.num_chunks.size());
    const PolicyInputs final_inputs =
        MakeInputs(batch.final_image, batch.final_state, batch.instruction,
                   trajectories, Rules(normalizer));
    const std::vector<float> final_value =
        ToVector(Evaluate(final_inputs, trajectories, {}).value);
    const std::vector<float> value = ToVector(now.value);
    const torch::Tensor log_ratio =
        now.log_probability - rows.targets.behavior_log_probability;

    const ValueProblem problem = {.reward = rewards,
                                  .steps_executed = batch.steps_executed,
                                  .value = value,
                                  .num_chunks = batch.num_chunks,
                                  .end = batch.end,
                                  .final_value = final_value,
                                  .discount = algorithm.discount,
                                  .lambda = algorithm.gae_lambda};
    ValueTargets targets =
        algorithm.correction == Correction::kVtrace
            ? VtraceTargets(problem, ToVector(log_ratio),
                            {.rho_max = algorithm.vtrace_rho_max,
                             .c_max = algorithm.vtrace_c_max})
            : GaeTargets(problem);

    const RatioDiagnostics ratios = DiagnoseRatios(log_ratio);
    result.kl_k1 = ratios.kl_k1;
    result.kl_k3 = ratios.kl_k3;
    result.effective_sample_share = ratios.effective_sample_share;
    result.explained_variance = ExplainedVariance(targets.value_target, value);
    result.value_mean = MeanOf(value);
    result.advantage_std = StandardDeviationOf(targets.advantage);
    if (algorithm.normalize_advantages) Standardize(targets.advantage);
    rows.targets.advantage =
        ToDevice(targets.advantage, torch::kFloat32, device_);
    rows.targets.value_target =
        ToDevice(targets.value_target, torch::kFloat32, device_);
  }

  absl::Status RunEpochs(const ChunkRows& rows, TrainResult& result) {
    torch::Tensor sums = torch::zeros({6}, arena_.parameters().options());
    double minibatches = 0;
    for (int epoch = 0; epoch < options_.algorithm.epochs; ++epoch) {
      const std::vector<torch::Tensor> parts = Minibatches(rows.size(), epoch);
      torch::Tensor kl = torch::zeros({}, arena_.parameters().options());
      for (const torch::Tensor& index : parts) {
        const torch::Tensor figures =
            TrainMinibatch(rows.Select(index), result.learning_rate);
        sums += figures;
        kl += figures[4];
      }
      minibatches += static_cast<double>(parts.size());
      result.epochs = epoch + 1;
      result.kl_after = kl.item<double>() / static_cast<double>(parts.size());
      const double kl_max = options_.algorithm.kl_max;
      if (kl_max > 0 && result.kl_after > kl_max) break;
    }
    const std::vector<float> means = ToVector(sums / minibatches);
    result.policy_loss = means[0];
    result.value_loss = means[1];
    result.entropy = means[2];
    result.clip_fraction = means[3];
    result.gradient_norm = means[5];
    result.log_std_mean =
        network_->named_parameters()["log_std"].mean().item<double>();
    if (std::isfinite(result.policy_loss + result.value_loss +
                      result.gradient_norm + result.log_std_mean)) {
      return absl::OkStatus();
    }
    return absl::InternalError(absl::StrCat(
        "the loss of train step ", version_.value, " is not finite: policy ",
        result.policy_loss, ", value ", result.value_loss, ", gradient norm ",
        result.gradient_norm));
  }

  // Rows of each minibatch of an epoch.
  std::vector<torch::Tensor> Minibatches(int64_t rows, int epoch) const {
    const uint64_t key =
        KeyedBits(options_.seed, RandomStream::kShuffle, version_.value, epoch);
    const torch::Tensor order =
        ToDevice(KeyedPermutation(key, rows), torch::kInt64, device_);
    const int64_t count =
        std::min<int64_t>(options_.algorithm.minibatches, rows);
    std::vector<torch::Tensor> parts;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t first = i * rows / count;
      parts.push_back(order.narrow(0, first, (i + 1) * rows / count - first));
    }
    return parts;
  }

  // One optimizer step. Returns [policy, value, entropy, clip fraction, kl,
  // gradient norm], still on the device.
  torch::Tensor TrainMinibatch(const ChunkRows& rows, double learning_rate) {
    arena_.ZeroGradients();
    const PpoLoss loss = ComputePpoLoss(network_->forward(rows.inputs),
                                        rows.targets, options_.algorithm);
    loss.total.backward();
    const torch::Tensor norm =
        optimizer_.ClipGradients(options_.algorithm.gradient_norm_max);
    optimizer_.Step(learning_rate);
    const torch::NoGradGuard no_grad;
    return torch::stack({loss.policy, loss.value, loss.entropy,
                         loss.clip_fraction, loss.kl, norm});
  }

  // Mean squared distance from the expert's actions, and from the return.
  ImitationResult ImitateOnce(const ImitationBatch& batch, double share) {
    const int64_t rows = static_cast<int64_t>(batch.steps_executed.size());
    const ObservationNormalizer normalizer = Normalizer();
    arena_.ZeroGradients();
    const PolicyOutputs outputs = network_->forward(MakeInputs(
        batch.image, batch.state, batch.instruction, rows, Rules(normalizer)));
    const torch::Tensor executed =
        ExecutedMask(ToDevice(batch.steps_executed, torch::kInt64, device_),
                     options_.shape.action_chunk)
            .unsqueeze(2);
    const torch::Tensor squared =
        (outputs.mean - batch.action.to(device_)).square() * executed;
    const torch::Tensor action_loss =
        squared.sum() /
        (executed.sum() * static_cast<double>(options_.shape.action_size));
    torch::Tensor value_loss = torch::zeros_like(action_loss);
    if (!batch.discounted_return.empty()) {
      const double factor =
          options_.algorithm.scale_rewards ? reward_scale_.factor() : 1;
      const torch::Tensor target =
          ToDevice(batch.discounted_return, torch::kFloat32, device_) * factor;
      value_loss = 0.5 * (outputs.value - target).square().mean();
    }
    const torch::Tensor loss =
        action_loss + options_.algorithm.value_cost * value_loss;
    loss.backward();
    const torch::Tensor norm =
        optimizer_.ClipGradients(kImitationGradientNormMax);
    optimizer_.Step(ImitationLearningRateAt(options_.pretraining.learning_rate,
                                            ++imitation_steps_, share));
    return {.chunks = rows,
            .loss = loss.item<double>(),
            .action_error = std::sqrt(action_loss.item<double>()),
            .value_loss = value_loss.item<double>(),
            .gradient_norm = norm.item<double>()};
  }

  const Options options_;
  const torch::Device device_;
  const std::shared_ptr<PolicyNetwork> network_;
  ParameterArena arena_;
  AdamW optimizer_;
  ObservationStatistics statistics_;
  RewardScale reward_scale_;
  PolicyVersion version_;
  int64_t imitation_steps_ = 0;
};

std::vector<std::byte> PpoLearnerOnTorch::SaveState() const {
  const PolicySnapshotPtr snapshot = Snapshot();
  StateWriter writer;
  for (const SnapshotTensor& tensor : snapshot->tensors) {
    const int64_t count =
        std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1},
                        std::multiplies<>());
    writer.Add("policy/" + tensor.name, tensor.shape,
               std::span(snapshot->bytes)
                   .subspan(tensor.offset, count * sizeof(float)));
  }
  writer.Add("optimizer/first_moment", optimizer_.first_moment());
  writer.Add("optimizer/second_moment", optimizer_.second_moment());
  writer.Add("optimizer/steps", optimizer_.steps());
  writer.Add("observations/count", std::vector<double>{statistics_.count()});
  writer.Add("observations/mean", statistics_.mean());
  writer.Add("observations/squared_deviations",
             statistics_.squared_deviations());
  writer.Add("reward_scale",
             std::vector<double>{reward_scale_.count(), reward_scale_.mean(),
                                 reward_scale_.squared_deviations()});
  writer.Add("version", std::vector<int64_t>{version_.value});
  writer.Add("imitation_steps", std::vector<int64_t>{imitation_steps_});
  return writer.Bytes();
}

absl::Status PpoLearnerOnTorch::LoadState(std::span<const std::byte> state) {
  // Everything is read before anything is changed.
  const absl::StatusOr<PolicySnapshotPtr> policy =
      PolicyFromState(state, options_.policy.kind);
  if (!policy.ok()) return policy.status();
  const absl::StatusOr<StateReader> reader = StateReader::Open(state);
  if (!reader.ok()) return reader.status();
  const int64_t size = options_.shape.state_size;
  const auto normalizer = NormalizerFrom(**policy, size);
  if (!normalizer.ok()) return normalizer.status();
  const auto first = reader->Floats("optimizer/first_moment", arena_.size());
  if (!first.ok()) return first.status();
  const auto second = reader->Floats("optimizer/second_moment", arena_.size());
  if (!second.ok()) return second.status();
  const auto steps = reader->Floats("optimizer/steps", 1);
  if (!steps.ok()) return steps.status();
  const auto count = reader->Doubles("observations/count", 1);
  if (!count.ok()) return count.status();
  const auto mean = reader->Doubles("observations/mean", size);
  if (!mean.ok()) return mean.status();
  const auto squared = reader->Doubles("observations/squared_deviations", size);
  if (!squared.ok()) return squared.status();
  const auto reward = reader->Doubles("reward_scale", 3);
  if (!reward.ok()) return reward.status();
  const auto version = reader->Integers("version", 1);
  if (!version.ok()) return version.status();
  const auto imitation_steps = reader->Integers("imitation_steps", 1);
  if (!imitation_steps.ok()) return imitation_steps.status();
  FLYWHEEL_RETURN_IF_ERROR(arena_.CopyFrom(**policy));

  optimizer_.Restore(*first, *second, *steps);
  statistics_.Restore((*count)[0], *mean, *squared);
  reward_scale_.Restore((*reward)[0], (*reward)[1], (*reward)[2]);
  version_ = {(*version)[0]};
  imitation_steps_ = (*imitation_steps)[0];
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<PpoLearner>> PpoLearner::Create(
    const Options& options) {
  const absl::StatusOr<torch::Device> device = DeviceNamed(options.device);
  if (!device.ok()) return device.status();
  absl::StatusOr<std::shared_ptr<PolicyNetwork>> network =
      MakePolicyNetwork(options.policy, options.shape, options.seed);
  if (!network.ok()) return network.status();
  return std::make_unique<PpoLearnerOnTorch>(options, *device,
                                             *std::move(network));
}

}  // namespace flywheel
