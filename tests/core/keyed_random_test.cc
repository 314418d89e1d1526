#include "services/core/keyed_random.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

TEST(KeyedRandomTest, TheSameKeyGivesTheSameNumbersForEver) {
  // SplitMix64 of 0, from its authors' reference implementation.
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdafu);
  std::vector<float> noise(4);
  FillNormal(7, noise);
  std::vector<float> again(4);
  FillNormal(7, again);
  EXPECT_EQ(noise, again);
}

TEST(KeyedRandomTest, EveryPartOfAKeyMatters) {
  const auto key = [](uint64_t seed, RandomStream stream, int a, int b) {
    return KeyedBits(seed, stream, a, b);
  };
  const std::set<uint64_t> keys = {
      key(1, RandomStream::kActionNoise, 0, 0),
      key(2, RandomStream::kActionNoise, 0, 0),
      key(1, RandomStream::kEpisodeSeed, 0, 0),
      key(1, RandomStream::kActionNoise, 1, 0),
      key(1, RandomStream::kActionNoise, 0, 1),
  };
  EXPECT_EQ(keys.size(), 5u);
}

TEST(KeyedRandomTest, ALongerFillBeginsLikeAShorterOne) {
  std::vector<float> shorter(3);
  std::vector<float> longer(8);
  FillNormal(11, shorter);
  FillNormal(11, longer);
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(KeyedRandomTest, NumbersAreStandardNormal) {
  constexpr int kCount = 200000;
  std::vector<float> noise(kCount);
  FillNormal(KeyedBits(3, RandomStream::kActionNoise, 5), noise);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (const float x : noise) {
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourths += std::pow(x, 4);
  }
  // Five standard errors of each estimate.
  EXPECT_NEAR(sum / kCount, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(squares / kCount, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourths / kCount, 3, 5 * std::sqrt(96.0 / kCount));
}

}  // namespace
}  // namespace flywheel
