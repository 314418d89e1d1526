#include "services/buffer/replay/sum_tree.h"

#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

long double TotalOf(const std::vector<double>& weights) {
  long double total = 0;
  for (const double weight : weights) total += weight;
  return total;
}

// The index at `part` of the total, by adding up from the front; and how far
// inside it is, from 0 to 1.
std::pair<std::size_t, long double> FindIn(const std::vector<double>& weights,
                                           double part) {
  long double target = part * TotalOf(weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (target < weights[i]) return {i, target / weights[i]};
    target -= weights[i];
  }
  return {weights.size(), 0};
}

// Of very different sizes, and often zero.
double RandomWeight(std::mt19937_64& random) {
  if (random() % 4 == 0) return 0;
  const double exponent = static_cast<double>(random() % 40) - 20.0;
  return static_cast<double>(random() >> 11) * 0x1.0p-53 *
         std::pow(10.0, exponent);
}

void ExpectTotal(const SumTree& tree, const std::vector<double>& weights) {
  const long double total = TotalOf(weights);
  // Every sum of two may round: a part of 2^-53, on the way of log2(n) + 1.
  ASSERT_LE(std::abs(tree.total() - total), total * 32 * 0x1.0p-53L);
}

TEST(SumTreeTest, HoldsWhatAVectorHoldsThrough100000RandomOperations) {
  for (const uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SumTree tree;
    std::vector<double> weights;
    for (int i = 0; i < 100'000; ++i) {
      const uint64_t choice = random() % 16;
      if (weights.empty() || choice < 5) {
        weights.push_back(RandomWeight(random));
        tree.PushBack(weights.back());
      } else if (choice < 9 && (weights.size() > 600 || i % 20'000 > 15'000)) {
        weights.pop_back();
        tree.PopBack();
      } else {
        const std::size_t at = random() % weights.size();
        weights[at] = RandomWeight(random);
        tree.Set(at, weights[at]);
      }
      ASSERT_EQ(tree.size(), weights.size());
      if (i % 64 == 0) ExpectTotal(tree, weights);
    }
    for (std::size_t i = 0; i < weights.size(); ++i) {
      ASSERT_EQ(tree.weight(i), weights[i]);
    }
  }
}

TEST(SumTreeTest, FindsTheIndexThatAddingUpFinds) {
  std::mt19937_64 random(7);
  for (const int size : {1, 2, 15, 16, 17, 255, 256, 257, 5000}) {
    SumTree tree;
    std::vector<double> weights(size);
    for (double& weight : weights) {
      weight = static_cast<double>(random() % 5);
      tree.PushBack(weight);
    }
    weights.back() = 3;
    tree.Set(size - 1, 3);
    for (int i = 0; i < 2000; ++i) {
      const double part = static_cast<double>(random() >> 11) * 0x1.0p-53;
      const auto [expected, inside] = FindIn(weights, part);
      // At a border the two may round to different sides.
      if (inside < 1e-9L || inside > 1 - 1e-9L) continue;
      ASSERT_EQ(tree.Find(part), expected) << size << " " << part;
    }
  }
}

TEST(SumTreeTest, NeverFindsAWeightOfZero) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    SumTree tree;
    const int size = 1 + static_cast<int>(random() % 700);
    for (int i = 0; i < size; ++i) tree.PushBack(RandomWeight(random));
    if (tree.total() == 0) continue;
    for (int i = 0; i < 200; ++i) {
      const double part = i == 0 ? 0.0
                          : i == 1
                              ? std::nextafter(1.0, 0.0)
                              : static_cast<double>(random() >> 11) * 0x1.0p-53;
      ASSERT_GT(tree.weight(tree.Find(part)), 0) << part;
    }
  }
}

TEST(SumTreeTest, MillionsOfUpdatesLeaveNoTrace) {
  std::mt19937_64 random(13);
  SumTree used;
  SumTree fresh;
  constexpr std::size_t kSize = 3000;
  for (std::size_t i = 0; i < kSize; ++i) used.PushBack(1e20);
  for (int i = 0; i < 2'000'000; ++i) {
    used.Set(random() % kSize, RandomWeight(random));
  }
  for (std::size_t i = 0; i < kSize; ++i) {
    used.Set(i, 0.1);
    fresh.PushBack(0.1);
  }
  EXPECT_EQ(used.total(), fresh.total());
  EXPECT_NEAR(used.total(), 300.0, 1e-10);
}

TEST(SumTreeTest, AnEmptyOneHasATotalOfZero) {
  SumTree tree;
  EXPECT_EQ(tree.total(), 0);
  for (int i = 0; i < 100; ++i) tree.PushBack(1);
  for (int i = 0; i < 100; ++i) tree.PopBack();
  EXPECT_EQ(tree.total(), 0);
  EXPECT_EQ(tree.size(), 0u);
  tree.PushBack(2);
  EXPECT_EQ(tree.total(), 2);
  EXPECT_EQ(tree.Find(0.5), 0u);
}

}  // namespace
}  // namespace flywheel
