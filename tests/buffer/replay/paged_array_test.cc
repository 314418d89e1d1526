#include "services/buffer/replay/paged_array.h"

#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

using Numbers = PagedArray<uint64_t>;

Numbers CountTo(std::size_t size) {
  Numbers numbers;
  for (std::size_t i = 0; i < size; ++i) numbers.PushBack(i);
  return numbers;
}

uint64_t Sum(const Numbers& numbers) {
  uint64_t sum = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) sum += numbers[i];
  return sum;
}

TEST(PagedArrayTest, HoldsWhatAVectorHolds) {
  const uint64_t seed = 1;
  std::mt19937_64 random(seed);
  Numbers numbers;
  std::vector<uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t choice = random() % 8;
    if (choice < 4) {
      numbers.PushBack(i);
      model.push_back(i);
    } else if (choice < 6 && !model.empty()) {
      numbers.PopBack();
      model.pop_back();
    } else if (!model.empty()) {
      const std::size_t at = random() % model.size();
      numbers.Set(at, i);
      model[at] = i;
    }
  }
  ASSERT_EQ(numbers.size(), model.size());
  for (std::size_t i = 0; i < model.size(); ++i) {
    ASSERT_EQ(numbers[i], model[i]);
  }
}

TEST(PagedArrayTest, AnImageStaysAsItWas) {
  constexpr std::size_t kSize = 3 * Numbers::kPageItems + 5;
  Numbers numbers = CountTo(kSize);
  const Numbers image = numbers.Share();
  for (std::size_t i = 0; i < kSize; ++i) numbers.Set(i, 0);
  while (!numbers.empty()) numbers.PopBack();
  for (int i = 0; i < 9; ++i) numbers.PushBack(77);

  ASSERT_EQ(image.size(), kSize);
  EXPECT_EQ(Sum(image), kSize * (kSize - 1) / 2);
  EXPECT_EQ(Sum(numbers), 9u * 77);
}

TEST(PagedArrayTest, AnItemMayBeSetFromAnotherOfASharedPageWithoutImage) {
  Numbers numbers = CountTo(10);
  { const Numbers image = numbers.Share(); }
  numbers.Set(0, numbers[9]);
  EXPECT_EQ(numbers[0], 9u);
}

TEST(PagedArrayTest, AnotherThreadMayReadAnImageMeanwhile) {
  constexpr std::size_t kSize = 5 * Numbers::kPageItems;
  Numbers numbers = CountTo(kSize);
  for (int round = 0; round < 20; ++round) {
    const uint64_t sum = Sum(numbers);
    std::jthread reader(
        [image = numbers.Share(), sum] { EXPECT_EQ(Sum(image), sum); });
    for (std::size_t i = 0; i < kSize; i += 7) numbers.Set(i, round);
  }
}

}  // namespace
}  // namespace flywheel
