#include "services/policy/policy.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>
#include <vector>

#include "services/policy/gaussian_head.h"
#include "services/policy/instruction_tokenizer.h"
#include "services/policy/observation_statistics.h"
#include "services/policy/parameter_arena.h"
#include "services/policy/policy_network.h"

namespace flywheel {
namespace {

struct Kind {
  PolicySpec spec;
  PolicyShape shape;
};

const Kind kHalfCheetah = {.spec = {.hidden_sizes = {64, 64}},
                           .shape = {.state_size = 17, .action_size = 6}};
const Kind kElu = {
    .spec = {.hidden_sizes = {40, 16, 24},
             .action_chunk = 3,
             .activation = "elu"},
    .shape = {.state_size = 5, .action_chunk = 3, .action_size = 2}};
const Kind kReluWide = {.spec = {.hidden_sizes = {200}, .activation = "relu"},
                        .shape = {.state_size = 33, .action_size = 9}};
const Kind kLinear = {
    .spec = {.hidden_sizes = {}, .normalize_observations = false},
    .shape = {.state_size = 2, .action_size = 1}};
const Kind kReach = {
    .spec = {.kind = "tiny_vla", .action_chunk = 4, .width = 32, .patch = 16},
    .shape = {.state_size = 11,
              .image = {64, 64, 3},
              .action_chunk = 4,
              .action_size = 3,
              .has_instruction = true}};

// A network with weights large enough to matter, and its snapshot.
struct Trained {
  std::shared_ptr<PolicyNetwork> network;
  ObservationNormalizer normalizer;
  PolicySnapshot snapshot;
};

Trained TrainedPolicy(const Kind& kind, uint64_t seed = 1) {
  Trained trained;
  trained.network = *MakePolicyNetwork(kind.spec, kind.shape, seed);
  const ParameterArena arena(*trained.network);
  {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(seed);
    for (torch::Tensor& parameter : trained.network->parameters()) {
      parameter.add_(0.1 * torch::randn_like(parameter));
    }
  }
  trained.normalizer = IdentityNormalizer(kind.shape.state_size);
  for (int64_t i = 0; i < kind.shape.state_size; ++i) {
    trained.normalizer.mean[i] = 0.1f * static_cast<float>(i);
    trained.normalizer.inverse_std[i] = 1.0f + 0.2f * static_cast<float>(i);
  }
  trained.snapshot = {.kind = kind.spec.kind,
                      .tensors = arena.tensors(),
                      .bytes = arena.Bytes()};
  AppendNormalizer(trained.normalizer, trained.snapshot);
  return trained;
}

// One call's memory.
struct Rows {
  Rows(const PolicyShape& shape, int64_t count, unsigned seed, bool noisy)
      : shape(shape), count(count) {
    torch::manual_seed(seed);
    const auto floats = [](int64_t n) {
      const torch::Tensor t = torch::randn({n});
      return std::vector<float>(t.data_ptr<float>(), t.data_ptr<float>() + n);
    };
    const torch::Tensor bytes =
        torch::randint(0, 256, {count * shape.image_bytes()}, torch::kUInt8);
    image.resize(bytes.numel());
    std::memcpy(image.data(), bytes.data_ptr(), image.size());
    state = floats(count * shape.state_size);
    if (noisy) noise = floats(count * shape.action_chunk * shape.action_size);
    const char* words[] = {"reach the red cube", "reach the blue ball", ""};
    for (int64_t i = 0; i < count; ++i) instructions.push_back(words[i % 3]);
    actions.resize(count * shape.action_chunk * shape.action_size);
    log_probability.resize(count * shape.action_chunk);
    value.resize(count);
  }

  ActingRows view() {
    return {.rows = count,
            .image = image,
            .state = state,
            .instructions = instructions,
            .noise = noise,
            .actions = actions,
            .log_probability = log_probability,
            .value = value};
  }

  const PolicyShape shape;
  const int64_t count;
  std::vector<std::byte> image;
  std::vector<float> state;
  std::vector<std::string> instructions;
  std::vector<float> noise;
  std::vector<float> actions;
  std::vector<float> log_probability;
  std::vector<float> value;
};

// The same by the network that the learner trains.
PolicyOutputs Reference(const Kind& kind, const Trained& trained,
                        const Rows& rows) {
  const torch::NoGradGuard no_grad;
  PolicyInputs inputs;
  std::vector<float> state = rows.state;
  if (kind.spec.normalize_observations) Normalize(trained.normalizer, state);
  inputs.state = torch::tensor(state).view({rows.count, kind.shape.state_size});
  if (kind.shape.has_image()) {
    inputs.image = torch::from_blob(const_cast<std::byte*>(rows.image.data()),
                                    {rows.count, kind.shape.image[0],
                                     kind.shape.image[1], kind.shape.image[2]},
                                    torch::kUInt8);
  }
  inputs.instruction =
      torch::zeros({rows.count, kInstructionTokens}, torch::kInt64);
  for (int64_t row = 0; row < rows.count; ++row) {
    const InstructionTokens tokens =
        TokenizeInstruction(rows.instructions[row]);
    for (int i = 0; i < kInstructionTokens; ++i) {
      inputs.instruction[row][i] = tokens[i];
    }
  }
  return trained.network->forward(inputs);
}

void ExpectNear(const std::vector<float>& actual, const torch::Tensor& expected,
                double tolerance) {
  const torch::Tensor flat = expected.contiguous().flatten();
  ASSERT_EQ(static_cast<int64_t>(actual.size()), flat.numel());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], flat[i].item<double>(), tolerance) << i;
  }
}

class EveryPolicy : public testing::TestWithParam<Kind> {
 protected:
  EveryPolicy() {
    SetPolicyThreads(1);
    // Torch has threads, which a fork would lose.
    testing::FLAGS_gtest_death_test_style = "threadsafe";
  }

  std::unique_ptr<Policy> Load(const PolicySnapshot& snapshot) {
    auto policy = Policy::Create(GetParam().spec, GetParam().shape);
    EXPECT_TRUE(policy.ok()) << policy.status();
    EXPECT_TRUE((*policy)->Load(snapshot).ok());
    return *std::move(policy);
  }
};

TEST_P(EveryPolicy, ActsLikeTheNetworkThatIsTrained) {
  const Trained trained = TrainedPolicy(GetParam());
  const std::unique_ptr<Policy> policy = Load(trained.snapshot);
  for (const int64_t count : {1, 3, 16, 33}) {
    Rows rows(GetParam().shape, count, 7, /*noisy=*/true);
    policy->Act(rows.view());
    const PolicyOutputs outputs = Reference(GetParam(), trained, rows);
    const torch::Tensor noise =
        torch::tensor(rows.noise).view(outputs.mean.sizes());
    ExpectNear(rows.actions, SampleAction(outputs.mean, outputs.log_std, noise),
               1e-5);
    ExpectNear(rows.value, outputs.value, 1e-5);
    const torch::Tensor action =
        torch::tensor(rows.actions).view(outputs.mean.sizes());
    ExpectNear(rows.log_probability,
               StepLogProbability(outputs.mean, outputs.log_std, action), 1e-4);
  }
}

TEST_P(EveryPolicy, ActsWithTheMeanWithoutNoise) {
  const Trained trained = TrainedPolicy(GetParam());
  const std::unique_ptr<Policy> policy = Load(trained.snapshot);
  Rows rows(GetParam().shape, 5, 8, /*noisy=*/false);
  policy->Act(rows.view());
  ExpectNear(rows.actions, Reference(GetParam(), trained, rows).mean, 1e-5);
}

TEST_P(EveryPolicy, GivesTheSameBitsEveryTime) {
  const Trained trained = TrainedPolicy(GetParam());
  Rows first(GetParam().shape, 16, 9, /*noisy=*/true);
  Load(trained.snapshot)->Act(first.view());
  for (int i = 0; i < 3; ++i) {
    Rows again(GetParam().shape, 16, 9, /*noisy=*/true);
    Load(trained.snapshot)->Act(again.view());
    EXPECT_EQ(again.actions, first.actions);
    EXPECT_EQ(again.log_probability, first.log_probability);
    EXPECT_EQ(again.value, first.value);
  }
}

TEST_P(EveryPolicy, ActsWithTheSnapshotLoadedLast) {
  const Trained old = TrainedPolicy(GetParam(), 1);
  const Trained now = TrainedPolicy(GetParam(), 2);
  const std::unique_ptr<Policy> policy = Load(old.snapshot);
  ASSERT_TRUE(policy->Load(now.snapshot).ok());
  Rows rows(GetParam().shape, 4, 3, /*noisy=*/false);
  policy->Act(rows.view());
  ExpectNear(rows.actions, Reference(GetParam(), now, rows).mean, 1e-5);
}

TEST_P(EveryPolicy, KeepsActingAsBeforeIfASnapshotDoesNotFit) {
  const Trained trained = TrainedPolicy(GetParam());
  const std::unique_ptr<Policy> policy = Load(trained.snapshot);
  Rows before(GetParam().shape, 4, 3, /*noisy=*/true);
  policy->Act(before.view());

  PolicySnapshot bad = TrainedPolicy(GetParam(), 2).snapshot;
  bad.kind = "other";
  EXPECT_EQ(
      std::string(policy->Load(bad).message()),
      "the snapshot's policy is other, the job's is " + GetParam().spec.kind);
  for (const SnapshotTensor& tensor : trained.snapshot.tensors) {
    bad = TrainedPolicy(GetParam(), 2).snapshot;
    for (SnapshotTensor& t : bad.tensors) {
      if (t.name == tensor.name) t.name = "other";
    }
    EXPECT_EQ(std::string(policy->Load(bad).message()),
              "the snapshot has no tensor " + tensor.name);
  }
  bad.bytes.resize(bad.bytes.size() / 2);
  EXPECT_FALSE(policy->Load(bad).ok());

  Rows after(GetParam().shape, 4, 3, /*noisy=*/true);
  policy->Act(after.view());
  EXPECT_EQ(after.actions, before.actions);
  EXPECT_EQ(after.value, before.value);
}

TEST_P(EveryPolicy, AbortsWithASentenceOnWrongSizes) {
  const std::unique_ptr<Policy> policy =
      Load(TrainedPolicy(GetParam()).snapshot);
  Rows rows(GetParam().shape, 4, 3, /*noisy=*/true);
  rows.value.resize(3);
  EXPECT_DEATH(policy->Act(rows.view()),
               "ActingRows.value must have 4 elements, got 3");
  rows.value.resize(4);
  rows.noise.pop_back();
  EXPECT_DEATH(policy->Act(rows.view()), "ActingRows.noise must have");
}

TEST_P(EveryPolicy, AbortsIfItActsBeforeItIsLoaded) {
  auto policy = Policy::Create(GetParam().spec, GetParam().shape);
  Rows rows(GetParam().shape, 4, 3, /*noisy=*/true);
  EXPECT_DEATH((*policy)->Act(rows.view()), "before the first Load");
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryPolicy,
                         testing::Values(kHalfCheetah, kElu, kReluWide, kLinear,
                                         kReach));

TEST(PolicyTest, RefusesASpecThatDoesNotFit) {
  PolicyShape shape = kReach.shape;
  shape.image = {0, 0, 0};
  EXPECT_EQ(Policy::Create(kReach.spec, shape).status().message(),
            "policy.kind tiny_vla needs an image observation, the task has "
            "none");
  EXPECT_EQ(Policy::Create({.activation = "x"}, kHalfCheetah.shape)
                .status()
                .message(),
            "policy.activation must be tanh, relu or elu, got x");
}

// What is far outside the approximations' ranges stays right, too.
TEST(MlpPolicyTest, SaturatesLikeTheNetwork) {
  for (const char* activation : {"tanh", "elu", "relu"}) {
    Kind kind = kHalfCheetah;
    kind.spec.activation = activation;
    kind.spec.normalize_observations = false;
    const Trained trained = TrainedPolicy(kind);
    auto policy = Policy::Create(kind.spec, kind.shape);
    ASSERT_TRUE((*policy)->Load(trained.snapshot).ok());
    for (const float scale : {1e-6f, 1e-3f, 1.0f, 30.0f, 1e3f}) {
      Rows rows(kind.shape, 8, 5, /*noisy=*/false);
      for (float& x : rows.state) x *= scale;
      (*policy)->Act(rows.view());
      const PolicyOutputs outputs = Reference(kind, trained, rows);
      const double size =
          std::max(1.0, outputs.mean.abs().max().item<double>());
      ExpectNear(rows.actions, outputs.mean, 1e-5 * size);
    }
  }
}

}  // namespace
}  // namespace flywheel
