#include "sim/random.h"

#include "gtest/gtest.h"

namespace flywheel {
namespace {

TEST(RandomTest, GivesThePublishedNumbers) {
  // SplitMix64 from seed 1234567, as in its authors' reference.
  Random random(1234567);
  EXPECT_EQ(random.Bits(), 6457827717110365317u);
  EXPECT_EQ(random.Bits(), 3203168211198807973u);
  EXPECT_EQ(random.Bits(), 9817491932198370423u);
}

TEST(RandomTest, UniformStaysWithinItsBoundsAndCentersBetweenThem) {
  Random random(1);
  double sum = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Uniform(-2, 4);
    ASSERT_GE(value, -2);
    ASSERT_LT(value, 4);
    sum += value;
  }
  EXPECT_NEAR(sum / 100000, 1, 0.03);
}

TEST(RandomTest, NormalHasMeanZeroAndVarianceOne) {
  Random random(2);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double value = random.Normal();
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.02);
}

TEST(RandomTest, IndexReachesEveryValueAndNoOther) {
  Random random(3);
  int counts[3] = {};
  for (int i = 0; i < 3000; ++i) {
    const int index = random.Index(3);
    ASSERT_TRUE(index >= 0 && index < 3);
    ++counts[index];
  }
  for (const int count : counts) EXPECT_NEAR(count, 1000, 120);
}

}  // namespace
}  // namespace flywheel
