#include "services/buffer/replay/item_selector.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

using enum SelectorKind;

std::vector<std::byte> ImageOf(ItemSelector& selector) {
  std::vector<std::byte> bytes;
  const std::unique_ptr<SelectorImage> image = selector.Share();
  if (image == nullptr) return bytes;
  const auto sink = [&](std::span<const std::byte> piece) {
    bytes.insert(bytes.end(), piece.begin(), piece.end());
    return absl::OkStatus();
  };
  ImageWriter writer(sink);
  image->Write(writer);
  EXPECT_TRUE(writer.Finish().ok());
  bytes.resize(bytes.size() - sizeof(uint32_t));  // The checksum.
  return bytes;
}

// What every selector should do, done plainly: each item with its number of
// insertion and of its last setting, in slots.
class Model {
 public:
  struct Item {
    double priority = 0;
    uint64_t inserted = 0;
    uint64_t set = 0;
  };

  std::size_t size() const { return items_.size(); }
  void Append(double priority) {
    const uint64_t now = next_++;
    items_.push_back({priority, now, now});
  }
  void Update(Slot slot, double priority) {
    items_[slot].priority = priority;
    items_[slot].set = next_++;
  }
  void Remove(Slot slot) {
    items_[slot] = items_.back();
    items_.pop_back();
  }

  // The only item that a selector of this kind may select.
  Slot Selected(SelectorKind kind) const {
    const auto rank = [kind](const Item& item) -> std::pair<double, uint64_t> {
      switch (kind) {
        case kFifo:
          return {0, item.inserted};
        case kLifo:
          return {0, ~item.inserted};
        case kMinHeap:
          return {item.priority, item.set};
        default:
          return {-item.priority, item.set};
      }
    };
    const auto first = std::min_element(
        items_.begin(), items_.end(),
        [&](const Item& a, const Item& b) { return rank(a) < rank(b); });
    return static_cast<Slot>(first - items_.begin());
  }

 private:
  uint64_t next_ = 0;
  std::vector<Item> items_;
};

class OrderedSelectorTest : public testing::TestWithParam<SelectorKind> {};

INSTANTIATE_TEST_SUITE_P(, OrderedSelectorTest,
                         testing::Values(kFifo, kLifo, kMinHeap, kMaxHeap),
                         [](const auto& kind) {
                           return std::string(SelectorName(kind.param));
                         });

TEST_P(OrderedSelectorTest, SelectsWhatThePlainModelSelects) {
  const uint64_t seed = 5;
  std::mt19937_64 random(seed);
  auto selector = MakeItemSelector({.kind = GetParam()});
  Model model;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t choice = random() % 8;
    const auto priority = static_cast<double>(random() % 10);
    if (model.size() == 0 || (choice < 3 && model.size() < 200)) {
      selector->Append(priority);
      model.Append(priority);
    } else if (choice < 5) {
      const auto slot = static_cast<Slot>(random() % model.size());
      selector->Update(slot, priority);
      model.Update(slot, priority);
    } else {
      const auto slot = choice < 7 ? static_cast<Slot>(random() % model.size())
                                   : model.Selected(GetParam());
      selector->Remove(slot);
      model.Remove(slot);
    }
    ASSERT_EQ(selector->size(), model.size());
    if (model.size() == 0) continue;
    const Selection selection = selector->Select(random());
    ASSERT_EQ(selection.slot, model.Selected(GetParam())) << "operation " << i;
    ASSERT_EQ(selection.probability, 1.0);
  }
}

TEST_P(OrderedSelectorTest, GoesOnFromItsImage) {
  std::mt19937_64 random(6);
  auto selector = MakeItemSelector({.kind = GetParam()});
  std::vector<double> priorities;
  for (int i = 0; i < 500; ++i) {
    priorities.push_back(static_cast<double>(random() % 4));
    selector->Append(priorities.back());
  }
  for (int i = 0; i < 200; ++i) {
    const std::size_t slot = random() % priorities.size();
    selector->Update(static_cast<Slot>(slot), priorities[slot] = 2);
    const std::size_t gone = random() % priorities.size();
    selector->Remove(static_cast<Slot>(gone));
    priorities[gone] = priorities.back();
    priorities.pop_back();
  }

  auto restored = MakeItemSelector({.kind = GetParam()});
  for (const double priority : priorities) restored->Append(priority);
  const std::vector<std::byte> image = ImageOf(*selector);
  ByteReader reader(image);
  ASSERT_TRUE(restored->Read(reader).ok());
  EXPECT_EQ(reader.left(), 0u);

  while (selector->size() > 0) {
    const Slot slot = selector->Select(0).slot;
    ASSERT_EQ(restored->Select(0).slot, slot);
    selector->Remove(slot);
    restored->Remove(slot);
  }
}

TEST_P(OrderedSelectorTest, RefusesAnImageThatIsCutShort) {
  auto selector = MakeItemSelector({.kind = GetParam()});
  for (int i = 0; i < 9; ++i) selector->Append(i);
  const std::vector<std::byte> image = ImageOf(*selector);
  for (std::size_t size = 0; size < image.size(); ++size) {
    auto restored = MakeItemSelector({.kind = GetParam()});
    for (int i = 0; i < 9; ++i) restored->Append(i);
    ByteReader reader{std::span(image).first(size)};
    EXPECT_EQ(restored->Read(reader).code(), absl::StatusCode::kDataLoss);
  }
}

// Pearson's statistic, in standard deviations above what is expected.
double Deviation(const std::vector<int64_t>& counts,
                 const std::vector<double>& probabilities, int64_t draws) {
  double statistic = 0;
  int degrees = -1;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * static_cast<double>(draws);
    if (expected == 0) {
      EXPECT_EQ(counts[i], 0) << "slot " << i;
      continue;
    }
    const double difference = static_cast<double>(counts[i]) - expected;
    statistic += difference * difference / expected;
    ++degrees;
  }
  if (degrees == 0) return 0;
  return (statistic - degrees) / std::sqrt(2.0 * degrees);
}

void ExpectDistribution(const ItemSelector& selector,
                        const std::vector<double>& probabilities) {
  constexpr int64_t kDraws = 400'000;
  std::mt19937_64 random(17);
  std::vector<int64_t> counts(selector.size());
  for (int64_t i = 0; i < kDraws; ++i) {
    const Selection selection = selector.Select(random());
    ASSERT_NEAR(selection.probability, probabilities[selection.slot], 1e-12);
    ++counts[selection.slot];
  }
  // The seed is fixed: this passes always or never. By chance one in a
  // thousand seeds or so would be beyond 4.
  EXPECT_LT(Deviation(counts, probabilities, kDraws), 4.0);
}

std::vector<double> Normalized(std::vector<double> weights) {
  double total = 0;
  for (const double weight : weights) total += weight;
  for (double& weight : weights) weight /= total;
  return weights;
}

TEST(UniformSelectorTest, SelectsEachEquallyOften) {
  auto selector = MakeItemSelector({.kind = kUniform});
  for (int i = 0; i < 120; ++i) selector->Append(i);
  for (int i = 0; i < 20; ++i) selector->Remove(3);
  ExpectDistribution(*selector, std::vector<double>(100, 0.01));
}

TEST(PrioritizedSelectorTest, SelectsInProportionToThePowerOfThePriority) {
  for (const double exponent : {0.0, 0.6, 1.0, 2.0}) {
    SCOPED_TRACE(exponent);
    auto selector =
        MakeItemSelector({.kind = kPrioritized, .priority_exponent = exponent});
    std::vector<double> weights;
    for (int i = 0; i < 300; ++i) {
      const double priority = i % 7 == 0 ? 0 : i % 11 + 0.5;
      selector->Append(5);
      selector->Update(static_cast<Slot>(i), priority);
      weights.push_back(priority == 0 ? 0 : std::pow(priority, exponent));
    }
    for (int i = 0; i < 30; ++i) {
      const int gone = i * 8;
      selector->Remove(static_cast<Slot>(gone));
      weights[gone] = weights.back();
      weights.pop_back();
    }
    ExpectDistribution(*selector, Normalized(weights));
  }
}

TEST(PrioritizedSelectorTest, SelectsUniformlyWhereAllPrioritiesAreZero) {
  auto selector = MakeItemSelector({.kind = kPrioritized});
  for (int i = 0; i < 50; ++i) selector->Append(0);
  ExpectDistribution(*selector, std::vector<double>(50, 0.02));
}

TEST(PrioritizedSelectorTest, APositivePriorityKeepsAPositiveProbability) {
  auto selector =
      MakeItemSelector({.kind = kPrioritized, .priority_exponent = 8});
  selector->Append(0);
  selector->Append(1e-300);  // Its power is no double.
  for (const uint64_t bits : {uint64_t{0}, ~uint64_t{0}}) {
    EXPECT_EQ(selector->Select(bits).slot, 1u);
    EXPECT_EQ(selector->Select(bits).probability, 1.0);
  }
}

TEST(PrioritizedSelectorTest, TheLargestPrioritiesStayFinite) {
  auto selector =
      MakeItemSelector({.kind = kPrioritized, .priority_exponent = 8});
  for (int i = 0; i < 1000; ++i) selector->Append(1e30);
  EXPECT_NEAR(selector->Select(~uint64_t{0}).probability, 1e-3, 1e-12);
}

TEST(SelectorOptionsTest, ErrorsNameFieldRuleAndValue) {
  EXPECT_TRUE(Validate(SelectorOptions{}).ok());
  for (const double exponent : {-0.1, 8.5, std::nan("")}) {
    const absl::Status status =
        Validate({.kind = kPrioritized, .priority_exponent = exponent});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Contains(status.message(), "priority_exponent must be 0 to 8"));
  }
  EXPECT_TRUE(Contains(
      Validate(SelectorOptions{.kind = static_cast<SelectorKind>(7)}).message(),
      "kind must be 1 (fifo) to 6 (max_heap), got 7"));
}

}  // namespace
}  // namespace flywheel
