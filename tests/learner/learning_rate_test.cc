#include "services/learner/learning_rate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "services/learner/keyed_shuffle.h"

namespace flywheel {
namespace {

TEST(LearningRateTest, FallsLinearlyToZeroOrStays) {
  const auto linear = LearningRateSchedule::kLinear;
  EXPECT_DOUBLE_EQ(LearningRateAt(0.4, linear, 0), 0.4);
  EXPECT_DOUBLE_EQ(LearningRateAt(0.4, linear, 0.75), 0.1);
  EXPECT_DOUBLE_EQ(LearningRateAt(0.4, linear, 1), 0);
  EXPECT_DOUBLE_EQ(LearningRateAt(0.4, linear, 1.5), 0);
  EXPECT_DOUBLE_EQ(LearningRateAt(0.4, LearningRateSchedule::kConstant, 0.75),
                   0.4);
}

TEST(LearningRateTest, OfImitationWarmsUpAndFalls) {
  EXPECT_DOUBLE_EQ(ImitationLearningRateAt(1, 1, 0), 0.02);
  EXPECT_DOUBLE_EQ(ImitationLearningRateAt(1, 50, 0), 1);
  EXPECT_DOUBLE_EQ(ImitationLearningRateAt(1, 500, 0), 1);
  EXPECT_NEAR(ImitationLearningRateAt(1, 500, 1), 0.05, 1e-12);
  EXPECT_NEAR(ImitationLearningRateAt(1, 500, 2), 0.05, 1e-12);
}

TEST(KeyedShuffleTest, IsAPermutationThatTheKeyDecides) {
  const std::vector<int64_t> order = KeyedPermutation(5, 100);
  EXPECT_EQ(order, KeyedPermutation(5, 100));
  EXPECT_NE(order, KeyedPermutation(6, 100));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 100; ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_TRUE(KeyedPermutation(5, 0).empty());
  EXPECT_EQ(KeyedPermutation(5, 1), (std::vector<int64_t>{0}));
}

// Each element is as likely in each place: 600 permutations of six.
TEST(KeyedShuffleTest, PrefersNoOrder) {
  int counts[6][6] = {};
  for (uint64_t key = 0; key < 600; ++key) {
    const std::vector<int64_t> order = KeyedPermutation(MixBits(key), 6);
    for (int place = 0; place < 6; ++place) ++counts[place][order[place]];
  }
  for (const auto& row : counts) {
    for (const int count : row) EXPECT_NEAR(count, 100, 45);
  }
}

}  // namespace
}  // namespace flywheel
