#include "services/buffer/replay/record_references.h"

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

std::vector<uint64_t> DeadOf(RecordReferences& references) {
  std::vector<uint64_t> dead;
  references.CollectDead(
      [&](RecordId id, uint32_t /*bytes*/) { dead.push_back(id.value); });
  return dead;
}

TEST(RecordReferencesTest, ARecordDiesWithItsLastReference) {
  RecordReferences references(2);
  const RecordSlot slot = references.Add(0, {7}, 100);
  EXPECT_EQ(references.Add(1, {7}, 100), slot);
  references.Add(1, {7}, 100);
  EXPECT_EQ(references.bytes(), 100u);
  EXPECT_EQ(references.bytes(0), 100u);
  EXPECT_EQ(references.bytes(1), 100u);
  EXPECT_EQ(references.num_records(1), 1u);

  references.Remove(0, slot);
  references.Remove(1, slot);
  EXPECT_EQ(references.bytes(0), 0u);
  EXPECT_TRUE(references.IsLive({7}));
  EXPECT_TRUE(DeadOf(references).empty());
  references.Remove(1, slot);
  EXPECT_FALSE(references.IsLive({7}));
  EXPECT_EQ(references.bytes(), 0u);
  EXPECT_EQ(DeadOf(references), std::vector<uint64_t>{7});
  EXPECT_TRUE(DeadOf(references).empty());
}

TEST(RecordReferencesTest, WhatIsReferredToAnewDoesNotDie) {
  RecordReferences references(1);
  RecordSlot slot = references.Add(0, {7}, 100);
  for (int i = 0; i < 3; ++i) {
    references.Remove(0, slot);
    slot = references.Add(0, {7}, 100);
  }
  EXPECT_TRUE(DeadOf(references).empty());
  EXPECT_EQ(references.num_live(), 1u);
  references.Remove(0, slot);
  EXPECT_EQ(DeadOf(references).size(), 1u);
  EXPECT_EQ(references.num_live(), 0u);
}

TEST(RecordReferencesTest, ALostRecordCountsForNothing) {
  RecordReferences references(1);
  const RecordSlot slot = references.Add(0, {7}, std::nullopt);
  EXPECT_TRUE(references.lost(slot));
  EXPECT_EQ(references.num_lost(), 1u);
  EXPECT_EQ(references.bytes(0), 0u);
  references.Remove(0, slot);
  EXPECT_EQ(references.num_lost(), 0u);
}

class RecordReferencesModelTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(, RecordReferencesModelTest, testing::Values(1, 3));

TEST_P(RecordReferencesModelTest, CountsWhatAMapCounts) {
  const int num_tables = GetParam();
  const uint64_t seed = 3;
  std::mt19937_64 random(seed);
  RecordReferences references(num_tables);
  std::map<std::pair<int, uint64_t>, int> counts;  // By table and record.
  std::map<uint64_t, RecordSlot> slots;
  int64_t born = 0;
  int64_t died = 0;
  for (int i = 0; i < 200'000; ++i) {
    const auto table = static_cast<int>(random() % num_tables);
    const uint64_t id = random() % 300;
    const auto size = static_cast<uint32_t>(id + 1);
    if (random() % 2 == 0) {
      born += references.IsLive({id}) ? 0 : 1;
      slots[id] = references.Add(table, {id}, size);
      ++counts[{table, id}];
    } else if (counts[{table, id}] > 0) {
      references.Remove(table, slots[id]);
      --counts[{table, id}];
      died += references.IsLive({id}) ? 0 : 1;
    }
    if (i % 1000 != 0) continue;
    DeadOf(references);
    std::vector<uint64_t> bytes(num_tables);
    std::size_t live = 0;
    for (uint64_t record = 0; record < 300; ++record) {
      bool referred = false;
      for (int of = 0; of < num_tables; ++of) {
        const bool refers = counts[{of, record}] > 0;
        bytes[of] += refers ? record + 1 : 0;
        referred = referred || refers;
        ASSERT_EQ(references.NewBytes(
                      of, {.id = {record},
                           .bytes = static_cast<uint32_t>(record + 1)}),
                  refers ? 0 : record + 1);
      }
      live += referred ? 1 : 0;
    }
    for (int of = 0; of < num_tables; ++of) {
      ASSERT_EQ(references.bytes(of), bytes[of]);
    }
    ASSERT_EQ(references.num_live(), live);
    ASSERT_EQ(static_cast<int64_t>(live), born - died);
  }
}

}  // namespace
}  // namespace flywheel
