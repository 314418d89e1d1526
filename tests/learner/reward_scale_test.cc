#include "services/learner/reward_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace flywheel {
namespace {

TEST(RewardScaleTest, IsOneAtFirst) { EXPECT_EQ(RewardScale().factor(), 1); }

// Returns with discount 0.5 from 4: 0.5 * 4 + 1 = 3, 0.5 * 3 + 1 = 2.5,
// 0.5 * 2.5 - 0.25 = 1. Mean 13/6, variance (25 + 4 + 49) / 36 / 3 = 13/18.
TEST(RewardScaleTest, DividesByTheDeviationOfTheRunningReturn) {
  RewardScale scale;
  scale.Merge(std::vector<float>{1, 1, -0.25f}, 4, 0.5);
  EXPECT_EQ(scale.count(), 3);
  EXPECT_NEAR(scale.mean(), 13.0 / 6, 1e-12);
  EXPECT_NEAR(scale.factor(), 1 / std::sqrt(13.0 / 18 + 1e-8), 1e-12);
}

TEST(RewardScaleTest, GoesOnWhereATrajectoryWasCut) {
  RewardScale whole;
  whole.Merge(std::vector<float>{1, 2, 3, 4}, 0, 0.9);
  RewardScale parts;
  parts.Merge(std::vector<float>{1, 2}, 0, 0.9);
  parts.Merge(std::vector<float>{3, 4}, 0.9 * 1 + 2, 0.9);
  EXPECT_NEAR(parts.factor(), whole.factor(), 1e-12);
}

TEST(RewardScaleTest, GoesOnFromSavedNumbers) {
  RewardScale scale;
  scale.Merge(std::vector<float>{1, 2, 3}, 0, 0.9);
  RewardScale copy;
  copy.Restore(scale.count(), scale.mean(), scale.squared_deviations());
  scale.Merge(std::vector<float>{5}, 0, 0.9);
  copy.Merge(std::vector<float>{5}, 0, 0.9);
  EXPECT_EQ(copy.factor(), scale.factor());
}

TEST(RewardScaleTest, ClipsEveryStepOfAChunk) {
  EXPECT_DOUBLE_EQ(ScaledChunkReward(std::vector<float>{1, 30, -30}, 2, 0.5),
                   2 + 0.5 * 10 - 0.25 * 10);
}

TEST(RewardScaleTest, SumsAChunkWithItsDiscount) {
  EXPECT_DOUBLE_EQ(DiscountedSum(std::vector<float>{1, 30, -30}, 0.5),
                   1 + 15 - 7.5);
  EXPECT_EQ(DiscountedSum({}, 0.5), 0);
}

}  // namespace
}  // namespace flywheel
