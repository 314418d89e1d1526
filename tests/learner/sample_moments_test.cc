#include "services/learner/sample_moments.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace flywheel {
namespace {

TEST(SampleMomentsTest, AgreeWithHandComputedNumbers) {
  const std::vector<float> values = {1, 2, 3, 6};
  EXPECT_DOUBLE_EQ(MeanOf(values), 3);
  EXPECT_DOUBLE_EQ(StandardDeviationOf(values), std::sqrt(3.5));
}

TEST(SampleMomentsTest, StandardizeToMeanZeroAndDeviationOne) {
  std::vector<float> values = {1, 2, 3, 6};
  Standardize(values);
  EXPECT_NEAR(MeanOf(values), 0, 1e-7);
  EXPECT_NEAR(StandardDeviationOf(values), 1, 1e-6);
}

TEST(SampleMomentsTest, StandardizeWhatDoesNotVaryToZero) {
  std::vector<float> values = {5, 5};
  Standardize(values);
  EXPECT_EQ(values, (std::vector<float>{0, 0}));
}

TEST(ExplainedVarianceTest, IsOneForTheTargetsAndZeroForTheirMean) {
  const std::vector<float> targets = {1, 2, 3, 6};
  EXPECT_DOUBLE_EQ(ExplainedVariance(targets, targets), 1);
  EXPECT_DOUBLE_EQ(ExplainedVariance(targets, std::vector<float>(4, 3.0f)), 0);
  EXPECT_DOUBLE_EQ(
      ExplainedVariance(targets, std::vector<float>{-1, -2, -3, -6}), -3);
}

TEST(ExplainedVarianceTest, IsZeroWhereNothingVaries) {
  EXPECT_EQ(
      ExplainedVariance(std::vector<float>{2, 2}, std::vector<float>{1, 3}), 0);
}

}  // namespace
}  // namespace flywheel
