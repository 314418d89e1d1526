#include "services/policy/gaussian_head.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <numbers>

namespace flywheel {
namespace {

double LogDensity(double mean, double log_std, double x) {
  const double z = (x - mean) / std::exp(log_std);
  return -0.5 * z * z - log_std - 0.5 * std::log(2 * std::numbers::pi);
}

TEST(GaussianHeadTest, SumsTheLogDensitiesOfAStep) {
  const torch::Tensor mean =
      torch::tensor({{{0.5, -1.0}, {2.0, 3.0}}}, torch::kFloat32);
  const torch::Tensor log_std =
      torch::tensor({{0.0, 0.5}, {-1.0, 1.0}}, torch::kFloat32);
  const torch::Tensor action =
      torch::tensor({{{1.0, 1.0}, {2.5, 0.0}}}, torch::kFloat32);
  const torch::Tensor steps = StepLogProbability(mean, log_std, action);
  EXPECT_NEAR(steps[0][0].item<double>(),
              LogDensity(0.5, 0, 1) + LogDensity(-1, 0.5, 1), 1e-5);
  EXPECT_NEAR(steps[0][1].item<double>(),
              LogDensity(2, -1, 2.5) + LogDensity(3, 1, 0), 1e-5);
}

TEST(GaussianHeadTest, CountsOnlyExecutedSteps) {
  const torch::Tensor mean = torch::zeros({3, 4, 2});
  const torch::Tensor log_std = torch::zeros({4, 2});
  torch::Tensor action = torch::zeros({3, 4, 2});
  action.select(1, 3).fill_(100);  // Never executed here: must not matter.
  const torch::Tensor executed = torch::tensor({1, 2, 3}, torch::kInt64);
  const torch::Tensor chunks =
      ChunkLogProbability(mean, log_std, action, executed);
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(chunks[i].item<double>(), 2 * (i + 1) * LogDensity(0, 0, 0),
                1e-5);
  }
}

TEST(GaussianHeadTest, MasksTheStepsThatWereNotExecuted) {
  EXPECT_TRUE(
      torch::equal(ExecutedMask(torch::tensor({1, 3}, torch::kInt64), 3),
                   torch::tensor({{1.0f, 0.0f, 0.0f}, {1.0f, 1.0f, 1.0f}})));
}

TEST(GaussianHeadTest, SamplesWithTheGivenNoise) {
  const torch::Tensor noise = torch::tensor({{{-1.0f, 2.0f}}});
  const torch::Tensor action = SampleAction(
      torch::ones({1, 1, 2}), torch::full({1, 2}, std::log(0.5)), noise);
  EXPECT_TRUE(torch::allclose(action, torch::tensor({{{0.5f, 2.0f}}})));
}

// The mean of -log p over many samples is the entropy.
TEST(GaussianHeadTest, HasTheEntropyOfItsSamples) {
  torch::manual_seed(1);
  const torch::Tensor log_std = torch::tensor({{-0.5f, 0.25f, 1.0f}});
  const torch::Tensor mean = torch::zeros({200000, 1, 3});
  const torch::Tensor action =
      SampleAction(mean, log_std, torch::randn({200000, 1, 3}));
  const double sampled =
      -StepLogProbability(mean, log_std, action).mean().item<double>();
  EXPECT_NEAR(MeanStepEntropy(log_std, 3).item<double>(), sampled, 0.02);
}

}  // namespace
}  // namespace flywheel
