#include "services/learner/ppo_loss.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "services/policy/gaussian_head.h"

namespace flywheel {
namespace {

// Chunks of one step and one element, with a mean of 0 and a deviation of 1,
// whose ratios to the behavior policy are as given.
struct Sample {
  PolicyOutputs outputs;
  PpoTargets targets;
};

Sample SampleWith(std::vector<float> ratio, std::vector<float> advantage) {
  const int64_t n = static_cast<int64_t>(ratio.size());
  Sample sample;
  sample.outputs = {.mean = torch::zeros({n, 1, 1}).requires_grad_(),
                    .log_std = torch::zeros({1, 1}).requires_grad_(),
                    .value = torch::zeros({n}).requires_grad_()};
  sample.targets.action = torch::ones({n, 1, 1});
  sample.targets.steps_executed = torch::ones({n}, torch::kInt64);
  sample.targets.behavior_log_probability =
      StepLogProbability(sample.outputs.mean, sample.outputs.log_std,
                         sample.targets.action)
          .detach()
          .squeeze(1) -
      torch::tensor(ratio).log();
  sample.targets.behavior_value = torch::zeros({n});
  sample.targets.advantage = torch::tensor(advantage);
  sample.targets.value_target = torch::zeros({n});
  return sample;
}

PpoLoss LossOf(const Sample& sample, const AlgorithmSpec& spec) {
  return ComputePpoLoss(sample.outputs, sample.targets, spec);
}

TEST(PpoLossTest, OnPolicyIsTheMeanAdvantage) {
  const PpoLoss loss = LossOf(SampleWith({1, 1}, {2, -1}), {});
  EXPECT_NEAR(loss.policy.item<double>(), -0.5, 1e-6);
  EXPECT_EQ(loss.clip_fraction.item<double>(), 0);
  EXPECT_NEAR(loss.kl.item<double>(), 0, 1e-6);
}

TEST(PpoLossTest, TakesTheWorseOfPlainAndClipped) {
  struct Row {
    float ratio, advantage;
    double loss;
  };
  for (const Row& row :
       {Row{1.5f, 1, -1.2}, Row{0.5f, 1, -0.5}, Row{1.5f, -1, 1.5},
        Row{0.5f, -1, 0.8}, Row{1.1f, 1, -1.1}, Row{0.9f, -1, 0.9}}) {
    const PpoLoss loss =
        LossOf(SampleWith({row.ratio}, {row.advantage}), {.clip_range = 0.2});
    EXPECT_NEAR(loss.policy.item<double>(), row.loss, 1e-5)
        << row.ratio << " " << row.advantage;
  }
}

TEST(PpoLossTest, CountsChunksWhoseClippedBranchIsActive) {
  const PpoLoss loss =
      LossOf(SampleWith({1.5f, 0.5f, 1.5f, 0.5f}, {1, 1, -1, -1}), {});
  EXPECT_EQ(loss.clip_fraction.item<double>(), 0.5);
}

TEST(PpoLossTest, ClippedChunksGiveNoGradient) {
  const Sample sample = SampleWith({1.5f, 1.0f}, {1, 1});
  LossOf(sample, {.entropy_cost = 0}).policy.backward();
  EXPECT_EQ(sample.outputs.mean.grad()[0].item<double>(), 0);
  EXPECT_NE(sample.outputs.mean.grad()[1].item<double>(), 0);
}

// d log p / d mean = (action - mean) = 1, so the gradient of the mean loss over
// two chunks with ratio 1 is -advantage / 2.
TEST(PpoLossTest, HasTheGradientOfThePolicyGradientTheorem) {
  const Sample sample = SampleWith({1, 1}, {3, -2});
  LossOf(sample, {}).policy.backward();
  EXPECT_NEAR(sample.outputs.mean.grad()[0].item<double>(), -1.5, 1e-5);
  EXPECT_NEAR(sample.outputs.mean.grad()[1].item<double>(), 1.0, 1e-5);
}

TEST(PpoLossTest, ValueLossIsHalfTheSquaredError) {
  Sample sample = SampleWith({1, 1}, {0, 0});
  sample.targets.value_target = torch::tensor({2.0f, -4.0f});
  EXPECT_NEAR(LossOf(sample, {}).value.item<double>(), 5, 1e-6);
}

TEST(PpoLossTest, ClippedValueLossHoldsTheValueNearItsOldOne) {
  Sample sample = SampleWith({1}, {0});
  sample.outputs.value = torch::tensor({1.0f});
  sample.targets.behavior_value = torch::tensor({0.0f});
  sample.targets.value_target = torch::tensor({1.0f});
  // Clipped to 0.2: the error is 0.8, though the value itself is right.
  EXPECT_NEAR(LossOf(sample, {.value_clip_range = 0.2}).value.item<double>(),
              0.32, 1e-6);
}

TEST(PpoLossTest, AddsItsPartsWithTheirCosts) {
  Sample sample = SampleWith({1}, {2});
  sample.targets.value_target = torch::tensor({2.0f});
  const PpoLoss loss =
      LossOf(sample, {.value_cost = 0.25, .entropy_cost = 0.1});
  const double entropy = 0.5 * std::log(2 * M_PI * M_E);
  EXPECT_NEAR(loss.entropy.item<double>(), entropy, 1e-5);
  EXPECT_NEAR(loss.total.item<double>(), -2 + 0.25 * 2 - 0.1 * entropy, 1e-5);
}

TEST(PpoLossTest, DoesNotDependOnTheOrderOfChunks) {
  const PpoLoss one = LossOf(SampleWith({1.5f, 0.7f, 1}, {1, -2, 3}), {});
  const PpoLoss two = LossOf(SampleWith({1, 1.5f, 0.7f}, {3, 1, -2}), {});
  EXPECT_NEAR(one.total.item<double>(), two.total.item<double>(), 1e-6);
}

TEST(RatioDiagnosticsTest, AreZeroAndOneOnPolicy) {
  const RatioDiagnostics ratios = DiagnoseRatios(torch::zeros({10}));
  EXPECT_EQ(ratios.kl_k1, 0);
  EXPECT_EQ(ratios.kl_k3, 0);
  EXPECT_EQ(ratios.effective_sample_share, 1);
}

TEST(RatioDiagnosticsTest, AgreeWithHandComputedNumbers) {
  const RatioDiagnostics ratios =
      DiagnoseRatios(torch::tensor({2.0, 0.5}, torch::kFloat64).log());
  EXPECT_NEAR(ratios.kl_k1, 0, 1e-12);
  EXPECT_NEAR(ratios.kl_k3, 0.25, 1e-12);  // ((1 - ln 2) + (-0.5 + ln 2)) / 2
  EXPECT_NEAR(ratios.effective_sample_share, 6.25 / (2 * 4.25), 1e-12);
}

// Two Gaussians of deviation 1, a distance d apart: KL = d^2 / 2.
TEST(RatioDiagnosticsTest, EstimateTheDivergenceOfTwoGaussians) {
  torch::manual_seed(1);
  const torch::Tensor x = torch::randn({200000});
  const double d = 0.3;
  const torch::Tensor log_ratio = -0.5 * (x - d).square() + 0.5 * x.square();
  const RatioDiagnostics ratios = DiagnoseRatios(log_ratio);
  EXPECT_NEAR(ratios.kl_k1, d * d / 2, 0.003);
  EXPECT_NEAR(ratios.kl_k3, d * d / 2, 0.003);
  EXPECT_NEAR(ratios.effective_sample_share, std::exp(-d * d), 0.01);
}

}  // namespace
}  // namespace flywheel
