#include "services/buffer/replay/table_set.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

std::unique_ptr<TableSet> Two() {
  auto set = TableSet::Create({{.name = "windows"},
                               {.name = "queue",
                                .sampler = {.kind = SelectorKind::kFifo},
                                .rate_limiter = QueueLimiter(3),
                                .max_times_sampled = 1,
                                .when_full = WhenTableFull::kRefuse,
                                .items_max = 4}});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

class TableSetTest : public testing::Test {
 protected:
  absl::Status Insert(const std::vector<TableInsert>& inserts) {
    return set_->Insert(inserts, random_);
  }
  ReplayTable& Table(absl::string_view name) { return **set_->Find(name); }
  std::size_t CountDead() {
    std::size_t dead = 0;
    set_->CollectDead([&](RecordId, uint32_t) { ++dead; });
    return dead;
  }

  SeededBits random_{1};
  std::unique_ptr<TableSet> set_ = Two();
};

TEST_F(TableSetTest, TablesShareTheRecordsOfTheirItems) {
  ASSERT_TRUE(Insert({{"windows", ItemOf(1, 0, 1)},
                      {"windows", ItemOf(2, 1, 2)},
                      {"queue", ItemOf(1, 0, 2)}})
                  .ok());
  EXPECT_EQ(set_->references().num_live(), 3u);
  EXPECT_EQ(set_->references().bytes(), 3u * kRecordSize);

  ASSERT_TRUE(Table("queue").Sample(1, random_).ok());
  EXPECT_EQ(CountDead(), 0u);
  Table("windows").Delete(std::vector<uint64_t>{1});
  EXPECT_EQ(CountDead(), 1u);
  Table("windows").Reset();
  EXPECT_EQ(CountDead(), 2u);
}

TEST_F(TableSetTest, AnInsertIntoSeveralTablesIsDoneWhollyOrNotAtAll) {
  for (uint64_t key = 1; key <= 2; ++key) {
    ASSERT_TRUE(Insert({{"queue", ItemOf(key)}}).ok());
  }
  set_->TakeEvents();
  const auto expect_refused = [&](const std::vector<TableInsert>& inserts,
                                  absl::StatusCode code) {
    const absl::Status status = Insert(inserts);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_EQ(Table("windows").size(), 0u);
    EXPECT_EQ(Table("queue").size(), 2u);
    EXPECT_EQ(set_->references().num_live(), 2u);
    EXPECT_FALSE(set_->has_events());
  };
  const TableInsert good = {"windows", ItemOf(7)};
  using enum absl::StatusCode;
  expect_refused({good, {"nowhere", ItemOf(7)}}, kNotFound);
  expect_refused({good, {"queue", ItemOf(7, -1.0)}}, kInvalidArgument);
  expect_refused({good, {"queue", ItemOf(1, 3, 4)}}, kAlreadyExists);
  expect_refused({good, {"queue", ItemOf(7)}, {"queue", ItemOf(8)}},
                 kUnavailable);
  expect_refused(
      {good, {"queue", ItemOf(7)}, {"queue", ItemOf(8)}, {"queue", ItemOf(9)}},
      kUnavailable);
  expect_refused({good,
                  {"queue", ItemOf(7)},
                  {"queue", ItemOf(8)},
                  {"queue", ItemOf(9)},
                  {"queue", ItemOf(10)}},
                 kInvalidArgument);
  expect_refused({good, {"windows", ItemOf(7)}}, kInvalidArgument);
  EXPECT_TRUE(Insert({good, {"queue", ItemOf(7)}}).ok());
}

TEST_F(TableSetTest, RoomIsCountedForAllItemsOfACall) {
  auto set = TableSet::Create(
      {{.name = "small", .when_full = WhenTableFull::kRefuse, .items_max = 2}});
  ASSERT_TRUE(set.ok());
  const std::vector<TableInsert> three = {
      {"small", ItemOf(1)}, {"small", ItemOf(2)}, {"small", ItemOf(3)}};
  EXPECT_EQ((*set)->Insert(three, random_).code(),
            absl::StatusCode::kResourceExhausted);
  EXPECT_EQ((*set)->tables()[0]->size(), 0u);
  EXPECT_TRUE((*set)->Insert(std::span(three).first(2), random_).ok());
}

TEST_F(TableSetTest, AnUnknownTableIsAnErrorThatListsTheKnown) {
  EXPECT_EQ(set_->Find("replay").status().message(),
            "no table \"replay\"; there are \"windows\", \"queue\"");
  EXPECT_EQ(Insert({{"replay", ItemOf(1)}}).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(TableSetTest, NothingToInsertIsNothingDone) {
  EXPECT_TRUE(Insert({}).ok());
  EXPECT_FALSE(set_->has_events());
}

TEST(TableSetCreateTest, RefusesTwoTablesOfOneName) {
  const auto set = TableSet::Create({{.name = "a"}, {.name = "a"}});
  EXPECT_EQ(set.status().message(),
            "tables must have different names; two are \"a\"");
  EXPECT_FALSE(TableSet::Create({{.name = ""}}).ok());
}

}  // namespace
}  // namespace flywheel
