#include "services/learner/ppo_learner.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "services/core/keyed_random.h"
#include "services/policy/instruction_tokenizer.h"
#include "services/policy/policy.h"
#include "services/policy/safetensors.h"
#include "services/policy/snapshot_tensors.h"
#include "services/policy/stored_policy.h"

namespace flywheel {
namespace {

PpoLearner::Options MlpOptions() {
  return {.policy = {.hidden_sizes = {16, 16}},
          .algorithm = {.epochs = 2, .minibatches = 3},
          .shape = {.state_size = 3, .action_size = 2},
          .seed = 7,
          .device = "cpu"};
}

PpoLearner::Options VlaOptions() {
  return {.policy = {.kind = "tiny_vla",
                     .action_chunk = 4,
                     .width = 16,
                     .layers = 1,
                     .heads = 2,
                     .patch = 8},
          .algorithm = {.epochs = 2, .minibatches = 2},
          .pretraining = {.learning_rate = 1e-3},
          .shape = {.state_size = 3,
                    .image = {16, 16, 3},
                    .action_chunk = 4,
                    .action_size = 2,
                    .has_instruction = true},
          .seed = 7,
          .device = "cpu"};
}

std::unique_ptr<PpoLearner> Make(const PpoLearner::Options& options) {
  SetPolicyThreads(1);  // Bits depend on it.
  auto learner = PpoLearner::Create(options);
  EXPECT_TRUE(learner.ok()) << learner.status();
  return *std::move(learner);
}

// `trajectories` of 1 to 6 chunks with random contents, acted by version 0.
TrainBatch RandomBatch(const PolicyShape& shape, int seed,
                       int64_t trajectories = 12) {
  torch::manual_seed(seed);
  TrainBatch batch;
  for (int64_t i = 0; i < trajectories; ++i) {
    batch.num_chunks.push_back(1 + (seed + i * 5) % 6);
    batch.end.push_back(static_cast<TrajectoryEnd>((seed + i) % 3));
    batch.running_return.push_back(0.1f * static_cast<float>(i));
  }
  const int64_t chunks = std::accumulate(batch.num_chunks.begin(),
                                         batch.num_chunks.end(), int64_t{0});
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t steps = 1 + (seed + i) % shape.action_chunk;
    batch.steps_executed.push_back(static_cast<int32_t>(steps));
    batch.behavior_version.push_back(0);
    for (int64_t j = 0; j < steps; ++j) {
      batch.reward.push_back(torch::randn({}).item<float>());
    }
    batch.behavior_value.push_back(torch::randn({}).item<float>());
    batch.behavior_log_probability.push_back(
        -2.0f * static_cast<float>(steps) +
        0.1f * torch::randn({}).item<float>());
  }
  batch.action = torch::randn({chunks, shape.action_chunk, shape.action_size});
  batch.state = 2 * torch::randn({chunks, shape.state_size}) + 1;
  batch.final_state = torch::randn({trajectories, shape.state_size});
  if (shape.has_image()) {
    const auto images = [&](int64_t n) {
      return torch::randint(0, 256,
                            {n, shape.image[0], shape.image[1], shape.image[2]},
                            torch::kUInt8);
    };
    batch.image = images(chunks);
    batch.final_image = images(trajectories);
    batch.instruction = torch::randint(
        0, 12, {trajectories, kInstructionTokens}, torch::kInt64);
  }
  return batch;
}

ImitationBatch RandomDemonstrations(const PolicyShape& shape, int seed,
                                    int64_t chunks = 16) {
  torch::manual_seed(seed);
  ImitationBatch batch;
  batch.state = torch::randn({chunks, shape.state_size});
  // What the expert does depends on the state alone.
  batch.action = batch.state.narrow(1, 0, shape.action_size)
                     .unsqueeze(1)
                     .expand({-1, shape.action_chunk, -1})
                     .clamp(-1, 1)
                     .contiguous();
  if (shape.has_image()) {
    batch.image = torch::randint(
        0, 256, {chunks, shape.image[0], shape.image[1], shape.image[2]},
        torch::kUInt8);
    batch.instruction =
        torch::ones({chunks, kInstructionTokens}, torch::kInt64);
  }
  for (int64_t i = 0; i < chunks; ++i) {
    batch.steps_executed.push_back(
        static_cast<int32_t>(1 + i % shape.action_chunk));
    batch.discounted_return.push_back(1.0f);
  }
  return batch;
}

void TrainSteps(PpoLearner& learner, const PolicyShape& shape, int first,
                int count) {
  for (int step = first; step < first + count; ++step) {
    const auto result = learner.Train(RandomBatch(shape, step), 0.05 * step);
    ASSERT_TRUE(result.ok()) << result.status();
  }
}

std::string TrainRefusal(const TrainBatch& batch,
                         const PpoLearner::Options& options) {
  const std::unique_ptr<PpoLearner> learner = Make(options);
  const std::vector<std::byte> before = learner->SaveState();
  const auto result = learner->Train(batch, 0);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(learner->SaveState(), before);
  return std::string(result.status().message());
}

class EveryPpoLearner : public testing::TestWithParam<PpoLearner::Options> {};

TEST_P(EveryPpoLearner, GivesTheSameBitsForTheSameSeed) {
  const auto one = Make(GetParam());
  const auto two = Make(GetParam());
  TrainSteps(*one, GetParam().shape, 0, 3);
  torch::manual_seed(99);  // Nothing may depend on torch's own generator.
  TrainSteps(*two, GetParam().shape, 0, 3);
  EXPECT_EQ(one->SaveState(), two->SaveState());
  PpoLearner::Options other_seed = GetParam();
  other_seed.seed = 8;
  EXPECT_NE(Make(other_seed)->SaveState(), Make(GetParam())->SaveState());
}

TEST_P(EveryPpoLearner, ResumesBitForBit) {
  const auto whole = Make(GetParam());
  TrainSteps(*whole, GetParam().shape, 0, 10);

  const auto first = Make(GetParam());
  TrainSteps(*first, GetParam().shape, 0, 5);
  const std::vector<std::byte> saved = first->SaveState();
  PpoLearner::Options other_start = GetParam();
  const auto second = Make(other_start);
  ASSERT_TRUE(second->LoadState(saved).ok());
  EXPECT_EQ(second->SaveState(), saved);
  EXPECT_EQ(second->Snapshot()->bytes, first->Snapshot()->bytes);
  TrainSteps(*second, GetParam().shape, 5, 5);
  EXPECT_EQ(second->SaveState(), whole->SaveState());
  EXPECT_EQ(second->version().value, 10);
}

TEST_P(EveryPpoLearner, ResumesImitationBitForBit) {
  const auto whole = Make(GetParam());
  const auto imitate = [&](PpoLearner& learner, int first, int count) {
    for (int step = first; step < first + count; ++step) {
      const auto result = learner.Imitate(
          RandomDemonstrations(GetParam().shape, step), 0.1 * step);
      ASSERT_TRUE(result.ok()) << result.status();
    }
  };
  imitate(*whole, 0, 4);
  const auto first = Make(GetParam());
  imitate(*first, 0, 2);
  const auto second = Make(GetParam());
  ASSERT_TRUE(second->LoadState(first->SaveState()).ok());
  imitate(*second, 2, 2);
  EXPECT_EQ(second->SaveState(), whole->SaveState());
  EXPECT_EQ(second->version().value, 0);
}

TEST_P(EveryPpoLearner, RefusesASavedStateThatDoesNotFitAndChangesNothing) {
  const auto learner = Make(GetParam());
  const std::vector<std::byte> good = learner->SaveState();
  const auto read = SafetensorsFromBytes(good);
  ASSERT_TRUE(read.ok());
  const auto target = Make(GetParam());
  TrainSteps(*target, GetParam().shape, 0, 1);
  const std::vector<std::byte> before = target->SaveState();
  for (const TensorView& missing : read->tensors) {
    std::vector<TensorView> rest;
    for (const TensorView& tensor : read->tensors) {
      if (tensor.name != missing.name) rest.push_back(tensor);
    }
    const absl::Status status = target->LoadState(SafetensorsBytes(rest));
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    const std::string name = missing.name.starts_with("policy/")
                                 ? missing.name.substr(7)
                                 : missing.name;
    EXPECT_NE(status.message().find(name), absl::string_view::npos) << status;
    EXPECT_TRUE(target->SaveState() == before) << missing.name;
  }
  for (const std::size_t length : {std::size_t{0}, good.size() / 2}) {
    EXPECT_FALSE(target->LoadState(std::span(good).first(length)).ok());
  }
  EXPECT_TRUE(target->SaveState() == before);
}

TEST_P(EveryPpoLearner, PublishesWhatActs) {
  const auto learner = Make(GetParam());
  TrainSteps(*learner, GetParam().shape, 0, 2);
  const PolicySnapshotPtr snapshot = learner->Snapshot();
  EXPECT_EQ(snapshot->version.value, 2);
  EXPECT_EQ(snapshot->parent, 1);
  EXPECT_EQ(snapshot->kind, GetParam().policy.kind);
  auto policy = Policy::Create(GetParam().policy, GetParam().shape);
  ASSERT_TRUE(policy.ok());
  EXPECT_TRUE((*policy)->Load(*snapshot).ok());

  const auto stored =
      PolicyFromState(learner->SaveState(), GetParam().policy.kind);
  ASSERT_TRUE(stored.ok()) << stored.status();
  EXPECT_TRUE((*policy)->Load(**stored).ok());
  EXPECT_EQ((*stored)->version.value, 2);
}

INSTANTIATE_TEST_SUITE_P(Policies, EveryPpoLearner,
                         testing::Values(MlpOptions(), VlaOptions()));

// Acts with the learner's own snapshot: behavior and target are the same.
TrainBatch OnPolicyBatch(const PpoLearner::Options& options,
                         const PpoLearner& learner, int seed) {
  TrainBatch batch = RandomBatch(options.shape, seed);
  auto policy = *Policy::Create(options.policy, options.shape);
  EXPECT_TRUE(policy->Load(*learner.Snapshot()).ok());
  const int64_t chunks = batch.state.size(0);
  const PolicyShape& shape = options.shape;
  std::vector<float> noise(chunks * shape.action_chunk * shape.action_size);
  FillNormal(seed, noise);
  std::vector<float> actions(noise.size());
  std::vector<float> log_probability(chunks * shape.action_chunk);
  policy->Act({.rows = chunks,
               .state = {batch.state.data_ptr<float>(),
                         static_cast<std::size_t>(batch.state.numel())},
               .noise = noise,
               .actions = actions,
               .log_probability = log_probability,
               .value = batch.behavior_value});
  batch.action = torch::tensor(actions).view(batch.action.sizes());
  batch.behavior_version.assign(chunks, learner.version().value);
  for (int64_t i = 0; i < chunks; ++i) {
    batch.behavior_log_probability[i] =
        std::accumulate(log_probability.begin() + i * shape.action_chunk,
                        log_probability.begin() + i * shape.action_chunk +
                            batch.steps_executed[i],
                        0.0f);
  }
  return batch;
}

TEST(PpoLearnerTest, SeesARatioOfOneAtLagZero) {
  const PpoLearner::Options options = MlpOptions();
  const auto learner = Make(options);
  for (int step = 0; step < 5; ++step) {
    const auto result =
        learner->Train(OnPolicyBatch(options, *learner, step), 0);
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_NEAR(result->kl_k1, 0, 1e-5);
    EXPECT_NEAR(result->kl_k3, 0, 1e-8);
    EXPECT_NEAR(result->effective_sample_share, 1, 1e-6);
    EXPECT_EQ(result->policy_lag_max, 0);
  }
}

TEST(PpoLearnerTest, CountsTheLagOfEachChunk) {
  const PpoLearner::Options options = MlpOptions();
  const auto learner = Make(options);
  TrainSteps(*learner, options.shape, 0, 3);
  TrainBatch batch = RandomBatch(options.shape, 3, 1);
  const std::size_t chunks = batch.steps_executed.size();
  batch.behavior_version.assign(chunks, 3);
  batch.behavior_version[0] = 1;
  const auto result = learner->Train(batch, 0);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->policy_lag_max, 2);
  EXPECT_DOUBLE_EQ(result->policy_lag_mean, 2.0 / static_cast<double>(chunks));
}

// The reward is higher the nearer the action is to 0.7: the mean must go there.
TEST(PpoLearnerTest, LearnsABandit) {
  PpoLearner::Options options = MlpOptions();
  options.algorithm.learning_rate = 3e-3;
  options.algorithm.learning_rate_schedule = LearningRateSchedule::kConstant;
  for (const Correction correction : {Correction::kNone, Correction::kVtrace}) {
    options.algorithm.correction = correction;
    const auto learner = Make(options);
    double error = 0;
    for (int step = 0; step < 60; ++step) {
      TrainBatch batch = OnPolicyBatch(options, *learner, step);
      const int64_t chunks = batch.state.size(0);
      batch.num_chunks.assign(chunks, 1);  // Episodes of one step.
      batch.end.assign(chunks, TrajectoryEnd::kTerminated);
      batch.running_return.assign(chunks, 0);
      batch.final_state = torch::zeros_like(batch.state);
      const torch::Tensor distance = (batch.action - 0.7).square().sum({1, 2});
      error = distance.mean().item<double>();
      for (int64_t i = 0; i < chunks; ++i) {
        batch.reward[i] = -distance[i].item<float>();
      }
      ASSERT_TRUE(learner->Train(batch, 0).ok());
    }
    // At first 2 * (0.7^2 + 0.61^2) = 1.7.
    EXPECT_LT(error, 0.8) << static_cast<int>(correction);
  }
}

TEST(PpoLearnerTest, TrainsTheValueTowardTheReturn) {
  PpoLearner::Options options = MlpOptions();
  options.algorithm.learning_rate = 1e-2;
  options.algorithm.learning_rate_schedule = LearningRateSchedule::kConstant;
  options.algorithm.scale_rewards = false;
  const auto learner = Make(options);
  double explained = 0;
  for (int step = 0; step < 60; ++step) {
    TrainBatch batch = OnPolicyBatch(options, *learner, step % 5);
    const int64_t chunks = batch.state.size(0);
    batch.num_chunks.assign(chunks, 1);
    batch.end.assign(chunks, TrajectoryEnd::kTerminated);
    batch.running_return.assign(chunks, 0);
    batch.final_state = torch::zeros_like(batch.state);
    for (int64_t i = 0; i < chunks; ++i) {
      batch.reward[i] = batch.state[i][0].item<float>();
    }
    const auto result = learner->Train(batch, 0);
    ASSERT_TRUE(result.ok());
    explained = result->explained_variance;
  }
  EXPECT_GT(explained, 0.9);
}

TEST(PpoLearnerTest, UsesTheStatisticsOfABatchOnlyAfterIt) {
  const PpoLearner::Options options = MlpOptions();
  const auto learner = Make(options);
  const auto mean_of = [&](const PolicySnapshot& snapshot) {
    std::vector<float> mean(3);
    const int64_t size = 3;
    EXPECT_TRUE(
        CopyTensor(snapshot, "observation_mean", {&size, 1}, mean.data()).ok());
    return mean;
  };
  EXPECT_EQ(mean_of(*learner->Snapshot()), (std::vector<float>{0, 0, 0}));
  const TrainBatch batch = RandomBatch(options.shape, 1);
  ASSERT_TRUE(learner->Train(batch, 0).ok());
  const torch::Tensor wanted = batch.state.mean(0);
  const std::vector<float> mean = mean_of(*learner->Snapshot());
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(mean[i], wanted[i].item<float>(), 1e-5);
  }
}

TEST(PpoLearnerTest, WithoutNormalizationPublishesTheIdentity) {
  PpoLearner::Options options = MlpOptions();
  options.policy.normalize_observations = false;
  const auto learner = Make(options);
  TrainSteps(*learner, options.shape, 0, 2);
  std::vector<float> mean(3, -1);
  const int64_t size = 3;
  ASSERT_TRUE(CopyTensor(*learner->Snapshot(), "observation_mean", {&size, 1},
                         mean.data())
                  .ok());
  EXPECT_EQ(mean, (std::vector<float>{0, 0, 0}));
}

TEST(PpoLearnerTest, EndsItsEpochsOnceThePolicyMovedTooFar) {
  PpoLearner::Options options = MlpOptions();
  options.algorithm.epochs = 10;
  options.algorithm.learning_rate = 0.05;
  options.algorithm.kl_max = 0.01;
  const auto learner = Make(options);
  const auto result = learner->Train(OnPolicyBatch(options, *learner, 1), 0);
  ASSERT_TRUE(result.ok());
  EXPECT_LT(result->epochs, 10);
  EXPECT_GT(result->kl_after, 0.01);
}

TEST(PpoLearnerTest, LowersTheLearningRateWithTheBudget) {
  const PpoLearner::Options options = MlpOptions();
  const auto learner = Make(options);
  EXPECT_DOUBLE_EQ(
      learner->Train(RandomBatch(options.shape, 1), 0.25)->learning_rate,
      0.75 * options.algorithm.learning_rate);
  PpoLearner::Options constant = options;
  constant.algorithm.learning_rate_schedule = LearningRateSchedule::kConstant;
  EXPECT_DOUBLE_EQ(
      Make(constant)->Train(RandomBatch(options.shape, 1), 0.25)->learning_rate,
      options.algorithm.learning_rate);
}

TEST(PpoLearnerTest, IgnoresTheFinalObservationOfWhatTerminated) {
  const PpoLearner::Options options = MlpOptions();
  TrainBatch batch = RandomBatch(options.shape, 4);
  batch.end.assign(batch.end.size(), TrajectoryEnd::kTerminated);
  const auto one = Make(options);
  ASSERT_TRUE(one->Train(batch, 0).ok());
  batch.final_state.fill_(std::numeric_limits<float>::quiet_NaN());
  const auto two = Make(options);
  ASSERT_TRUE(two->Train(batch, 0).ok());
  EXPECT_EQ(one->SaveState(), two->SaveState());
}

TEST(PpoLearnerTest, TrainsOnASingleChunk) {
  const PpoLearner::Options options = MlpOptions();
  const auto learner = Make(options);
  TrainBatch batch = RandomBatch(options.shape, 0, 1);
  ASSERT_EQ(batch.steps_executed.size(), 1u);
  const auto result = learner->Train(batch, 0);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->chunks, 1);
}

TEST(PpoLearnerTest, FailsWithASentenceIfTheLossIsNotFinite) {
  const PpoLearner::Options options = MlpOptions();
  TrainBatch batch = RandomBatch(options.shape, 1);
  for (float& x : batch.behavior_log_probability) x = -1e30f;
  const auto result = Make(options)->Train(batch, 0);
  EXPECT_EQ(result.status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(result.status().message().find("the loss of train step 0"),
            absl::string_view::npos)
      << result.status();
}

TEST(PpoLearnerTest, ImitatesAnExpert) {
  for (const PpoLearner::Options& base : {MlpOptions(), VlaOptions()}) {
    PpoLearner::Options options = base;
    options.pretraining.learning_rate = 3e-3;
    const auto learner = Make(options);
    double first = 0;
    double last = 0;
    for (int step = 0; step < 200; ++step) {
      const auto result = learner->Imitate(
          RandomDemonstrations(options.shape, step, 64), step / 200.0);
      ASSERT_TRUE(result.ok()) << result.status();
      if (step == 0) first = result->action_error;
      last = result->action_error;
    }
    learner->FinishImitation();
    EXPECT_GT(first, 0.5);
    EXPECT_LT(last, 0.3) << options.policy.kind;
  }
}

TEST(PpoLearnerTest, RefusesBatchesThatContradictThemselves) {
  const PpoLearner::Options options = MlpOptions();
  const TrainBatch good = RandomBatch(options.shape, 2, 3);
  const int64_t chunks = static_cast<int64_t>(good.steps_executed.size());
  const auto expect_refused = [&](const auto& spoil,
                                  const std::string& sentence) {
    TrainBatch bad = good;
    spoil(bad);
    EXPECT_EQ(TrainRefusal(bad, options), sentence);
  };
  const std::string n = std::to_string(chunks);
  const std::string fewer = std::to_string(chunks - 1);
  expect_refused([](TrainBatch& b) { b = {}; },
                 "a train batch needs at least one chunk");
  expect_refused([](TrainBatch& b) { b.state = torch::Tensor(); },
                 "state is missing");
  expect_refused([](TrainBatch& b) { b.state = b.state.to(torch::kFloat64); },
                 "state must be Float, got Double");
  expect_refused([](TrainBatch& b) { b.state = b.state.narrow(1, 0, 2); },
                 "state must be [" + n + ", 3], got [" + n + ", 2]");
  expect_refused(
      [](TrainBatch& b) { b.final_state = b.final_state.narrow(0, 0, 2); },
      "final_state must be [3, 3], got [2, 3]");
  expect_refused([](TrainBatch& b) { b.action = b.action.squeeze(1); },
                 "action must be [" + n + ", 1, 2], got [" + n + ", 2]");
  expect_refused(
      [](TrainBatch& b) { b.behavior_log_probability.pop_back(); },
      "behavior_log_probability must have " + n + " elements, got " + fewer);
  expect_refused([](TrainBatch& b) { b.behavior_value.pop_back(); },
                 "behavior_value must have " + n + " elements, got " + fewer);
  expect_refused([](TrainBatch& b) { b.behavior_version.pop_back(); },
                 "behavior_version must have " + n + " elements, got " + fewer);
  expect_refused([](TrainBatch& b) { b.reward.pop_back(); },
                 "reward must have " + n + " elements, got " + fewer);
  expect_refused([](TrainBatch& b) { b.end.pop_back(); },
                 "end must have 3 elements, got 2");
  expect_refused([](TrainBatch& b) { b.running_return.pop_back(); },
                 "running_return must have 3 elements, got 2");
  expect_refused([](TrainBatch& b) { b.steps_executed[0] = 0; },
                 "steps_executed must be from 1 to 1, got 0");
  expect_refused([](TrainBatch& b) { b.steps_executed[0] = 2; },
                 "steps_executed must be from 1 to 1, got 2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  expect_refused([&](TrainBatch& b) { b.reward[1] = nan; },
                 "reward must be finite, got nan at 1");
  expect_refused(
      [&](TrainBatch& b) { b.behavior_log_probability[2] = -infinity; },
      "behavior_log_probability must be finite, got -inf at 2");
  expect_refused(
      [&](TrainBatch& b) {
        b.state = b.state.clone();
        b.state[1][1] = nan;
      },
      "state must be finite, and some elements are not");
  expect_refused(
      [](TrainBatch& b) { b.num_chunks[0] = 0; },
      "num_chunks must each be >= 1 and sum to " + n + ", got 0 after 0");
  expect_refused([&](TrainBatch& b) { b.num_chunks[0] = chunks + 1; },
                 "num_chunks must each be >= 1 and sum to " + n + ", got " +
                     std::to_string(chunks + 1) + " after 0");
}

TEST(PpoLearnerTest, RefusesTokensOutsideTheVocabulary) {
  const PpoLearner::Options options = VlaOptions();
  TrainBatch batch = RandomBatch(options.shape, 2, 3);
  batch.instruction[0][0] = kInstructionVocabulary;
  EXPECT_NE(TrainRefusal(batch, options)
                .find("instruction must hold tokens from 0 to 63, got "),
            std::string::npos);
}

TEST(PpoLearnerTest, RefusesDemonstrationsThatContradictThemselves) {
  const PpoLearner::Options options = VlaOptions();
  const auto learner = Make(options);
  ImitationBatch batch = RandomDemonstrations(options.shape, 1, 4);
  batch.discounted_return.pop_back();
  EXPECT_EQ(learner->Imitate(batch, 0).status().message(),
            "discounted_return must have 4 elements, got 3");
  batch.discounted_return.clear();
  EXPECT_TRUE(learner->Imitate(batch, 0).ok());
  batch.image = batch.image.narrow(0, 0, 3);
  EXPECT_EQ(learner->Imitate(batch, 0).status().message(),
            "image must be [4, 16, 16, 3], got [3, 16, 16, 3]");
  EXPECT_EQ(learner->Imitate({}, 0).status().message(),
            "an imitation batch needs at least one chunk");
}

TEST(PpoLearnerTest, RefusesOptionsThatDoNotFit) {
  PpoLearner::Options options = MlpOptions();
  options.device = "tpu";
  EXPECT_EQ(PpoLearner::Create(options).status().message(),
            "resources.device must be auto, cpu or cuda, got tpu");
  options = MlpOptions();
  options.shape.state_size = 0;
  EXPECT_EQ(PpoLearner::Create(options).status().message(),
            "policy.kind mlp_gaussian needs a state observation, the task has "
            "none");
}

TEST(PpoLearnerTest, WritesTheChecksumItIsGiven) {
  PpoLearner::Options options = MlpOptions();
  options.lineage = 5;
  options.checksum = [](std::span<const std::byte> bytes) {
    return static_cast<uint32_t>(bytes.size());
  };
  const PolicySnapshotPtr snapshot = Make(options)->Snapshot();
  EXPECT_EQ(snapshot->crc32c, snapshot->bytes.size());
  EXPECT_EQ(snapshot->lineage, 5u);
  EXPECT_EQ(snapshot->parent, -1);
}

}  // namespace
}  // namespace flywheel
