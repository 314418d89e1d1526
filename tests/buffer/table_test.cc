#include "services/buffer/table.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

// An item of one record of `bytes` zeros.
TableItem Item(uint64_t key, std::size_t bytes = 1) {
  return {.key = key,
          .records = {{.frame = MessageFrame(std::vector<std::byte>(bytes))}}};
}

uint64_t OldestOf(const Table& table) { return table.Select(0)->key; }

TEST(TableTest, AFifoTableSelectsTheOldest) {
  Table table({.name = "queue"});
  for (const uint64_t key : {5, 3, 9}) {
    ASSERT_TRUE(table.Insert(Item(key)).ok());
  }
  EXPECT_EQ(table.Select(~uint64_t{0})->key, 5u);
  EXPECT_TRUE(table.Remove(5).has_value());
  EXPECT_EQ(OldestOf(table), 3u);
}

TEST(TableTest, AUniformTableSelectsEachEquallyOften) {
  Table table({.name = "demonstrations", .selector = Selector::kUniform});
  for (uint64_t key = 0; key < 8; ++key) {
    ASSERT_TRUE(table.Insert(Item(key)).ok());
  }
  ASSERT_TRUE(table.Remove(3).has_value());
  std::mt19937_64 random(1);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 70'000; ++i) ++counts[table.Select(random())->key];
  EXPECT_EQ(counts.size(), 7u);
  for (const auto& [key, count] : counts) {
    EXPECT_NEAR(count, 10'000, 500) << "key " << key;  // 5 sigma.
  }
}

TEST(TableTest, AnEmptyTableSelectsNothing) {
  EXPECT_EQ(Table({.selector = Selector::kUniform}).Select(7), nullptr);
  EXPECT_EQ(Table({.selector = Selector::kFifo}).Select(7), nullptr);
}

TEST(TableTest, RefusesWhatDoesNotFitAndNamesTheLimits) {
  Table table({.name = "queue", .items_max = 2, .bytes_max = 100});
  ASSERT_TRUE(table.Insert(Item(1, 60)).ok());
  const absl::Status full = table.Insert(Item(2, 41));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(full.message(),
            "table \"queue\": may hold at most 2 items and 100 bytes; it holds "
            "1 and 60, the new one has 41");
  ASSERT_TRUE(table.Insert(Item(2, 40)).ok());
  EXPECT_FALSE(table.Insert(Item(3, 0)).ok());
  EXPECT_EQ(table.bytes(), 100u);
}

TEST(TableTest, EvictsTheOldestWhereItMay) {
  Table table(
      {.when_full = WhenFull::kEvictOldest, .items_max = 10, .bytes_max = 100});
  ASSERT_TRUE(table.Insert(Item(1, 40)).ok());
  ASSERT_TRUE(table.Insert(Item(2, 40)).ok());
  ASSERT_TRUE(table.Insert(Item(3, 50)).ok());
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(OldestOf(table), 2u);
  EXPECT_FALSE(table.Insert(Item(4, 101)).ok());  // Not even alone.
}

TEST(TableTest, RefusesAKeyThatIsThere) {
  Table table({.name = "queue"});
  ASSERT_TRUE(table.Insert(Item(7)).ok());
  EXPECT_EQ(table.Insert(Item(7)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(table.size(), 1u);
}

TEST(TableTest, InsertingSharesTheBytes) {
  Table table({});
  TableItem item = Item(1, 64);
  const std::byte* data = item.records[0].frame.bytes().data();
  ASSERT_TRUE(table.Insert(std::move(item)).ok());
  EXPECT_EQ(table.Select(0)->records[0].frame.bytes().data(), data);
}

// The obvious table: a queue of keys and sizes, searched from end to end.
class ModelTable {
 public:
  explicit ModelTable(const Table::Options& options) : options_(options) {}

  bool Insert(uint64_t key, std::size_t bytes) {
    if (Find(key) != items_.end()) return false;
    if (options_.when_full == WhenFull::kEvictOldest) {
      while (!items_.empty() && !Fits(bytes)) items_.pop_front();
    }
    if (!Fits(bytes)) return false;
    items_.emplace_back(key, bytes);
    return true;
  }
  bool Remove(uint64_t key) {
    const auto found = Find(key);
    if (found == items_.end()) return false;
    items_.erase(found);
    return true;
  }
  bool Has(uint64_t key) { return Find(key) != items_.end(); }
  std::size_t bytes() const {
    std::size_t bytes = 0;
    for (const auto& item : items_) bytes += item.second;
    return bytes;
  }
  const auto& items() const { return items_; }

 private:
  using Items = std::deque<std::pair<uint64_t, std::size_t>>;
  Items::iterator Find(uint64_t key) {
    return std::find_if(items_.begin(), items_.end(),
                        [key](const auto& item) { return item.first == key; });
  }
  bool Fits(std::size_t added) const {
    return items_.size() + 1 <= options_.items_max &&
           bytes() + added <= options_.bytes_max;
  }
  const Table::Options options_;
  Items items_;
};

TEST(TableTest, AgreesWithAModelUnderRandomOperations) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 40; ++round) {
    const Table::Options options = {
        .name = "model",
        .selector = random() % 2 == 0 ? Selector::kFifo : Selector::kUniform,
        .when_full =
            random() % 2 == 0 ? WhenFull::kRefuse : WhenFull::kEvictOldest,
        .items_max = 1 + random() % 20,
        .bytes_max = 1 + random() % 400};
    Table table(options);
    ModelTable model(options);
    for (int i = 0; i < 500; ++i) {
      const uint64_t key = random() % 40;
      if (random() % 3 == 0) {
        ASSERT_EQ(table.Remove(key).has_value(), model.Remove(key));
      } else {
        const std::size_t bytes = random() % 60;
        ASSERT_EQ(table.Insert(Item(key, bytes)).ok(),
                  model.Insert(key, bytes));
      }
      ASSERT_EQ(table.size(), model.items().size());
      ASSERT_EQ(table.bytes(), model.bytes());
      const TableItem* selected = table.Select(random());
      ASSERT_EQ(selected == nullptr, model.items().empty());
      if (selected == nullptr) continue;
      ASSERT_TRUE(model.Has(selected->key));
      if (options.selector == Selector::kFifo) {
        ASSERT_EQ(selected->key, model.items().front().first);
      }
    }
  }
}

}  // namespace
}  // namespace flywheel
