#include "services/learner/recovery_pace.h"

#include "gtest/gtest.h"

namespace flywheel {
namespace {

TEST(RecoveryPaceTest, TheFirstPointIsDueAtOnce) {
  EXPECT_TRUE(RecoveryPace().DueAfter(0));
}

TEST(RecoveryPaceTest, EveryStepWhereAPointCostsLessThanAHundredth) {
  RecoveryPace pace;
  pace.Wrote(0.001);
  for (int step = 0; step < 10; ++step) {
    EXPECT_TRUE(pace.DueAfter(0.125));
    pace.Wrote(0.001);
  }
}

TEST(RecoveryPaceTest, EveryFourthStepWhereItCostsFourHundredths) {
  RecoveryPace pace;
  pace.Wrote(0.04);
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(pace.DueAfter(1.01));
    EXPECT_FALSE(pace.DueAfter(1.01));
    EXPECT_FALSE(pace.DueAfter(1.01));
    EXPECT_TRUE(pace.DueAfter(1.01));
    pace.Wrote(0.04);
  }
}

}  // namespace
}  // namespace flywheel
