#include "services/policy/policy_network.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <string>

#include "services/policy/instruction_tokenizer.h"
#include "services/policy/parameter_arena.h"

namespace flywheel {
namespace {

PolicySpec VlaSpec() {
  return {.kind = "tiny_vla",
          .action_chunk = 4,
          .width = 32,
          .layers = 2,
          .heads = 4,
          .patch = 16};
}

PolicyShape VlaShape() {
  return {.state_size = 5,
          .image = {64, 64, 3},
          .action_chunk = 4,
          .action_size = 3,
          .has_instruction = true};
}

PolicyInputs RandomInputs(const PolicyShape& shape, int64_t rows) {
  PolicyInputs inputs;
  if (shape.has_image()) {
    inputs.image = torch::randint(
        0, 256, {rows, shape.image[0], shape.image[1], shape.image[2]},
        torch::kUInt8);
  }
  if (shape.state_size > 0) {
    inputs.state = torch::randn({rows, shape.state_size});
  }
  if (shape.has_instruction) {
    inputs.instruction = torch::randint(
        0, kInstructionVocabulary, {rows, kInstructionTokens}, torch::kInt64);
  }
  return inputs;
}

std::string Refusal(const PolicySpec& spec, const PolicyShape& shape) {
  const auto network = MakePolicyNetwork(spec, shape, 1);
  EXPECT_EQ(network.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(network.status().message());
}

torch::Tensor AllParameters(PolicyNetwork& network) {
  return ParameterArena(network).parameters();
}

struct Kind {
  PolicySpec spec;
  PolicyShape shape;
};

class EveryPolicyNetwork : public testing::TestWithParam<Kind> {
 protected:
  std::shared_ptr<PolicyNetwork> Make(uint64_t seed) {
    auto network = MakePolicyNetwork(GetParam().spec, GetParam().shape, seed);
    EXPECT_TRUE(network.ok()) << network.status();
    return *std::move(network);
  }
};

TEST_P(EveryPolicyNetwork, AnswersInItsShape) {
  const PolicyShape& shape = GetParam().shape;
  const PolicyOutputs outputs = Make(1)->forward(RandomInputs(shape, 7));
  EXPECT_EQ(outputs.mean.sizes(),
            (std::vector<int64_t>{7, shape.action_chunk, shape.action_size}));
  EXPECT_EQ(outputs.log_std.sizes(),
            (std::vector<int64_t>{shape.action_chunk, shape.action_size}));
  EXPECT_EQ(outputs.value.sizes(), (std::vector<int64_t>{7}));
  EXPECT_TRUE(outputs.mean.isfinite().all().item<bool>());
  EXPECT_TRUE(outputs.value.isfinite().all().item<bool>());
}

TEST_P(EveryPolicyNetwork, BeginsWithSmallMeansAndTheGivenDeviation) {
  const PolicyOutputs outputs =
      Make(3)->forward(RandomInputs(GetParam().shape, 16));
  EXPECT_LT(outputs.mean.abs().max().item<double>(), 0.5);
  EXPECT_TRUE((outputs.log_std == -0.5).all().item<bool>());
}

TEST_P(EveryPolicyNetwork, IsDecidedByItsSeedAlone) {
  torch::manual_seed(5);
  at::set_num_threads(1);
  const torch::Tensor first = AllParameters(*Make(11));
  torch::manual_seed(6);
  at::set_num_threads(2);
  const torch::Tensor again = AllParameters(*Make(11));
  at::set_num_threads(1);
  EXPECT_TRUE(torch::equal(first, again));
  EXPECT_FALSE(torch::equal(first, AllParameters(*Make(12))));
}

TEST_P(EveryPolicyNetwork, TreatsEveryRowAlone) {
  const std::shared_ptr<PolicyNetwork> network = Make(1);
  const torch::NoGradGuard no_grad;
  PolicyInputs inputs = RandomInputs(GetParam().shape, 6);
  const PolicyOutputs before = network->forward(inputs);
  if (inputs.image.defined()) inputs.image[5].zero_();
  if (inputs.state.defined()) inputs.state[5].zero_();
  if (inputs.instruction.defined()) inputs.instruction[5].zero_();
  const PolicyOutputs after = network->forward(inputs);
  EXPECT_TRUE(
      torch::equal(before.mean.narrow(0, 0, 5), after.mean.narrow(0, 0, 5)));
  EXPECT_FALSE(torch::equal(before.mean[5], after.mean[5]));
}

TEST_P(EveryPolicyNetwork, TrainsEveryParameter) {
  const std::shared_ptr<PolicyNetwork> network = Make(1);
  const PolicyOutputs outputs =
      network->forward(RandomInputs(GetParam().shape, 32));
  (outputs.mean.square().sum() + outputs.value.square().sum() +
   outputs.log_std.sum())
      .backward();
  for (const auto& item : network->named_parameters()) {
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(item.value().grad().abs().max().item<double>(), 0) << item.key();
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryPolicyNetwork,
    testing::Values(
        Kind{.spec = {.hidden_sizes = {32, 16}},
             .shape = {.state_size = 17, .action_size = 6}},
        Kind{.spec = {.hidden_sizes = {24},
                      .action_chunk = 2,
                      .activation = "elu"},
             .shape = {.state_size = 3, .action_chunk = 2, .action_size = 1}},
        Kind{.spec = {.hidden_sizes = {}, .activation = "relu"},
             .shape = {.state_size = 3, .action_size = 2}},
        Kind{.spec = VlaSpec(), .shape = VlaShape()},
        Kind{.spec = {.kind = "tiny_vla",
                      .width = 16,
                      .layers = 1,
                      .heads = 1,
                      .patch = 4},
             .shape = {.image = {32, 16, 1}, .action_size = 2}}));

TEST(MlpGaussianTest, BeginsWithOrthogonalWeights) {
  auto network = MakePolicyNetwork({.hidden_sizes = {64, 32}},
                                   {.state_size = 17, .action_size = 6}, 1);
  ASSERT_TRUE(network.ok());
  const auto parameters = (*network)->named_parameters();
  const auto gram = [&](const std::string& name) {
    const torch::Tensor weight = parameters[name].detach();
    return weight.size(0) <= weight.size(1) ? weight.mm(weight.t())
                                            : weight.t().mm(weight);
  };
  const auto expect_scaled_identity = [&](const std::string& name,
                                          double gain) {
    const torch::Tensor product = gram(name);
    const torch::Tensor wanted = gain * gain * torch::eye(product.size(0));
    EXPECT_LT((product - wanted).abs().max().item<double>(), 1e-5) << name;
  };
  expect_scaled_identity("actor_0_weight", std::sqrt(2.0));
  expect_scaled_identity("actor_1_weight", std::sqrt(2.0));
  expect_scaled_identity("actor_2_weight", 0.01);
  expect_scaled_identity("critic_1_weight", std::sqrt(2.0));
  expect_scaled_identity("critic_2_weight", 1.0);
}

TEST(MlpGaussianTest, RefusesATaskWithoutState) {
  EXPECT_EQ(Refusal({}, {.image = {64, 64, 3}, .action_size = 1}),
            "policy.kind mlp_gaussian needs a state observation, the task has "
            "none");
}

TEST(MlpGaussianTest, RefusesUnknownActivationsAndEmptyLayers) {
  const PolicyShape shape = {.state_size = 3, .action_size = 1};
  EXPECT_EQ(Refusal({.activation = "sigmoid"}, shape),
            "policy.activation must be tanh, relu or elu, got sigmoid");
  EXPECT_EQ(Refusal({.hidden_sizes = {64, 0}}, shape),
            "policy.hidden_sizes must each be >= 1, got 0");
}

TEST(TinyVlaTest, RefusesATaskWithoutCamera) {
  PolicyShape shape = VlaShape();
  shape.image = {0, 0, 0};
  EXPECT_EQ(Refusal(VlaSpec(), shape),
            "policy.kind tiny_vla needs an image observation, the task has "
            "none");
}

TEST(TinyVlaTest, RefusesSizesThatDoNotDivide) {
  PolicySpec spec = VlaSpec();
  spec.heads = 5;
  EXPECT_EQ(Refusal(spec, VlaShape()),
            "policy.width must be a multiple of policy.heads (5), got 32");
  spec = VlaSpec();
  spec.patch = 6;
  EXPECT_EQ(Refusal(spec, VlaShape()),
            "policy.patch must be a multiple of 4, got 6");
  spec.patch = 12;
  EXPECT_EQ(Refusal(spec, VlaShape()),
            "policy.patch must divide the image's 64 x 64 pixels, got 12");
}

TEST(PolicyNetworkTest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(Refusal({.kind = "big_vla"}, {.state_size = 1, .action_size = 1}),
            "policy.kind must be mlp_gaussian or tiny_vla, got big_vla");
  EXPECT_EQ(Refusal({}, {.state_size = 1}),
            "a policy needs actions of at least [1, 1], got [1, 0]");
  EXPECT_EQ(Refusal({.action_chunk = 4}, {.state_size = 1, .action_size = 1}),
            "policy.action_chunk is 4, the records have 1");
}

}  // namespace
}  // namespace flywheel
