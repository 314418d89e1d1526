#include "services/buffer/replay/replay_table.h"

#include <cmath>
#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

using enum SelectorKind;
using Keys = std::vector<uint64_t>;

// A table by itself.
struct Alone {
  explicit Alone(const ReplayTableOptions& options)
      : table(options, 0, references, nullptr) {
    EXPECT_TRUE(Validate(options).ok()) << Validate(options);
  }

  absl::Status Insert(const ReplayItem& item) {
    return table.Insert(item, random);
  }
  Keys Sample(int num_samples) {
    const auto samples = table.Sample(num_samples, random);
    EXPECT_TRUE(samples.ok()) << samples.status();
    Keys keys;
    if (!samples.ok()) return keys;
    for (const SampledItem& sample : *samples) keys.push_back(sample.key);
    return keys;
  }
  TableCounts counts() const { return table.Info({}).counts; }

  SeededBits random{1};
  RecordReferences references{1};
  ReplayTable table;
};

TEST(ReplayTableTest, AQueueGivesEachItemOnceTheOldestFirst) {
  Alone queue(QueueTable("queue", 3));
  for (const uint64_t key : {5, 3, 9}) {
    ASSERT_TRUE(queue.Insert(ItemOf(key)).ok());
  }
  EXPECT_EQ(queue.Insert(ItemOf(4)).code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(queue.table.Info({}).insert_waits_for,
                       "room: it holds 3 items"));
  EXPECT_EQ(queue.Sample(2), (Keys{5, 3}));
  EXPECT_TRUE(queue.Insert(ItemOf(4)).ok());
  EXPECT_EQ(queue.Sample(9), (Keys{9, 4}));

  const auto none = queue.table.Sample(1, queue.random);
  EXPECT_EQ(none.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(none.status().message(),
                       "table \"queue\": sample waits for 1 more items"));
  EXPECT_EQ(queue.counts().removed_sampled, 4);
}

TEST(ReplayTableTest, AStackGivesTheNewestFirst) {
  Alone stack(StackTable("stack", 3));
  for (const uint64_t key : {5, 3}) ASSERT_TRUE(stack.Insert(ItemOf(key)).ok());
  EXPECT_EQ(stack.Sample(1), Keys{3});
  ASSERT_TRUE(stack.Insert(ItemOf(7)).ok());
  EXPECT_EQ(stack.Sample(9), (Keys{7, 5}));
}

TEST(ReplayTableTest, ASampleTellsAllThatImportanceWeightsNeed) {
  Alone table({.name = "replay",
               .sampler = {.kind = kPrioritized},
               .max_times_sampled = 2});
  ASSERT_TRUE(table.Insert(ItemOf(1, 0.0)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(2, 4, 6, 3.0, 5)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(3, 0.0)).ok());
  const auto samples = table.table.Sample(2, table.random);
  ASSERT_TRUE(samples.ok());
  ASSERT_EQ(samples->size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    const SampledItem& sample = (*samples)[i];
    EXPECT_EQ(sample.key, 2u);
    EXPECT_EQ(sample.priority, 3.0);
    EXPECT_EQ(sample.probability, 1.0);
    EXPECT_EQ(sample.table_size, 3u);
    EXPECT_EQ(sample.times_sampled, i + 1);
    ASSERT_EQ(sample.records.size(), 3u);
    EXPECT_EQ(sample.records[0], RecordId{4});
    EXPECT_EQ(sample.records[2], RecordId{6});
    EXPECT_EQ(sample.first_offset, 5u);
    EXPECT_EQ(sample.num_steps, 25u);
  }
  EXPECT_EQ(table.table.size(), 2u);  // The second draw was its last.
  EXPECT_FALSE(table.references.IsLive({5}));
}

TEST(ReplayTableTest, OverlappingItemsShareTheirRecords) {
  Alone table({.name = "windows"});
  for (uint64_t key = 0; key < 50; ++key) {
    ASSERT_TRUE(table.Insert(ItemOf(key, key, key + 4)).ok());
  }
  const ReplayTableInfo info = table.table.Info({});
  EXPECT_EQ(info.items, 50u);
  EXPECT_EQ(info.records, 54u);
  EXPECT_EQ(info.bytes, 54u * kRecordSize);
}

TEST(ReplayTableTest, TheRemoverKeepsTheLimitOfItems) {
  struct Case {
    SelectorKind remover;
    Keys left;
  };
  // Priorities fall with the keys.
  for (const Case& is :
       {Case{kFifo, {4, 5, 6}}, Case{kLifo, {1, 2, 3}},
        Case{kMinHeap, {1, 2, 3}}, Case{kMaxHeap, {4, 5, 6}}}) {
    Alone table({.name = "replay",
                 .sampler = {.kind = kFifo},
                 .remover = {.kind = is.remover},
                 .max_times_sampled = 1,
                 .items_max = 3});
    for (uint64_t key = 1; key <= 6; ++key) {
      ASSERT_TRUE(
          table.Insert(ItemOf(key, 10.0 - static_cast<double>(key))).ok());
    }
    EXPECT_EQ(table.counts().removed_full, 3);
    EXPECT_EQ(table.Sample(9), is.left) << SelectorName(is.remover);
  }
}

TEST(ReplayTableTest, TheRemoverKeepsTheLimitOfBytes) {
  Alone table({.name = "replay",
               .sampler = {.kind = kFifo},
               .max_times_sampled = 1,
               .bytes_max = 4 * kRecordSize});
  ASSERT_TRUE(table.Insert(ItemOf(1, 0, 2)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(2, 1, 3)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(3, 3, 4)).ok());  // 0 to 4: one too many.
  EXPECT_EQ(table.table.bytes(), 4u * kRecordSize);
  ASSERT_TRUE(table.Insert(ItemOf(4, 6, 9)).ok());  // Alone.
  EXPECT_EQ(table.Sample(9), Keys{4});

  const absl::Status status = table.Insert(ItemOf(5, 0, 4));
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Contains(status.message(),
                       "table \"replay\", item of key 5: must have at most "
                       "bytes_max 400, has 500"));
}

TEST(ReplayTableTest, ATableThatRefusesSaysWhatItHolds) {
  Alone table({.name = "replay",
               .when_full = WhenTableFull::kRefuse,
               .bytes_max = 250});
  ASSERT_TRUE(table.Insert(ItemOf(1, 0, 1)).ok());
  EXPECT_TRUE(table.Insert(ItemOf(2, 1, 1)).ok());  // No new record.
  EXPECT_EQ(table.Insert(ItemOf(3, 1, 2)).message(),
            "table \"replay\", item of key 3: the table may hold at most "
            "1000000 items and 250 bytes; it holds 2 and 200, this call adds 1 "
            "and 100");
}

TEST(ReplayTableTest, ATableThatWaitsForRoomGetsItFromSamples) {
  ReplayTableOptions options = QueueTable("queue", 10);
  options.bytes_max = 250;
  Alone table(options);
  ASSERT_TRUE(table.Insert(ItemOf(1, 0, 1)).ok());
  const absl::Status status = table.Insert(ItemOf(2, 2, 2));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(
      Contains(status.message(), "it holds 1 and 200, this call adds 1"));
  ASSERT_TRUE(table.Insert(ItemOf(9, 0, 0)).ok());
  EXPECT_EQ(table.table.Info({}).insert_waits_for, "");
  EXPECT_EQ(table.Sample(2), (Keys{1, 9}));
  EXPECT_TRUE(table.Insert(ItemOf(2, 2, 2)).ok());
  // What never fits need not wait.
  EXPECT_EQ(table.Insert(ItemOf(3, 3, 5)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(ReplayTableTest, TheSameItemAgainChangesNothing) {
  Alone table({.name = "replay"});
  ASSERT_TRUE(table.Insert(ItemOf(1, 0, 1, 2.0)).ok());
  table.table.UpdatePriorities(std::vector<KeyPriority>{{1, 5.0}});
  ASSERT_TRUE(table.Insert(ItemOf(1, 0, 1, 2.0)).ok());
  EXPECT_EQ(table.counts().inserted, 1);
  EXPECT_EQ(table.table.Sample(1, table.random)->front().priority, 5.0);

  for (const ReplayItem& other : {ItemOf(1, 0, 2), ItemOf(1, 0, 0),
                                  ItemOf(1, 0, 1, 2.0, 1), ItemOf(1, 1, 2)}) {
    const absl::Status status = table.Insert(other);
    EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
    EXPECT_EQ(status.message(),
              "table \"replay\", item of key 1: is there already, with other "
              "steps");
  }
}

TEST(ReplayTableTest, WrongPrioritiesAreRefusedOneByOne) {
  Alone table({.name = "replay", .sampler = {.kind = kMaxHeap}});
  for (uint64_t key = 1; key <= 3; ++key) {
    ASSERT_TRUE(table.Insert(ItemOf(key)).ok());
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const PriorityUpdate update =
      table.table.UpdatePriorities(std::vector<KeyPriority>{
          {1, std::nan("")}, {2, 7.0}, {3, -1.0}, {8, 1.0}, {2, infinity}});
  EXPECT_EQ(update.updated, 1);
  EXPECT_EQ(update.unknown, 1);
  EXPECT_EQ(update.refused, 3);
  ASSERT_EQ(update.errors.size(), 3u);
  EXPECT_EQ(update.errors[0].message(),
            "table \"replay\", item of key 1: priority must be 0 to 1e+30, got "
            "nan");
  EXPECT_EQ(update.errors[1].message(),
            "table \"replay\", item of key 3: priority must be 0 to 1e+30, got "
            "-1");
  EXPECT_EQ(table.Sample(1), Keys{2});
  const ReplayTableInfo info = table.table.Info({});
  EXPECT_EQ(info.priorities_refused, 3);
  EXPECT_EQ(info.keys_unknown, 1);

  const std::vector<KeyPriority> many(1000, {1, -1.0});
  EXPECT_EQ(table.table.UpdatePriorities(many).errors.size(),
            ReplayTable::kErrorsMax);
}

TEST(ReplayTableTest, APoisonousItemIsRefusedAloneOnEveryKindOfTable) {
  for (int sampler = 1; sampler <= 6; ++sampler) {
    Alone table({.name = "replay",
                 .sampler = {.kind = static_cast<SelectorKind>(sampler)}});
    for (const double priority : {std::nan(""), -1.0, 1e31}) {
      EXPECT_EQ(table.Insert(ItemOf(1, priority)).code(),
                absl::StatusCode::kInvalidArgument);
    }
    EXPECT_TRUE(table.Insert(ItemOf(1)).ok());
    EXPECT_EQ(table.Sample(1), Keys{1});
  }
}

TEST(ReplayTableTest, AnEmptyTableIsNeverSampled) {
  Alone table({.name = "replay"});
  EXPECT_EQ(table.table.Sample(1, table.random).status().code(),
            absl::StatusCode::kUnavailable);
  ASSERT_TRUE(table.Insert(ItemOf(1)).ok());
  EXPECT_EQ(table.table.Delete(Keys{1, 1, 2}).deleted, 1);
  EXPECT_EQ(table.table.Sample(1, table.random).status().code(),
            absl::StatusCode::kUnavailable);
}

TEST(ReplayTableTest, ANumberOfSamplesOutOfRangeIsRefused) {
  Alone table({.name = "replay"});
  ASSERT_TRUE(table.Insert(ItemOf(1)).ok());
  for (const int number : {0, -1, ReplayTable::kSamplesMax + 1}) {
    const absl::Status status =
        table.table.Sample(number, table.random).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_TRUE(Contains(status.message(), "num_samples must be 1 to 65536"));
  }
}

TEST(ReplayTableTest, TheRateLimiterEndsABatchAndHoldsInserts) {
  Alone table({.name = "replay",
               .rate_limiter = *SampleToInsertRatioLimiter(2.0, 2, 2.0)});
  ASSERT_TRUE(table.Insert(ItemOf(1)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(2)).ok());
  ASSERT_TRUE(table.Insert(ItemOf(3)).ok());
  const absl::Status status = table.Insert(ItemOf(4));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(status.message(),
                       "item of key 4: waits for 2 more "
                       "samples"));
  EXPECT_EQ(table.Sample(100).size(), 4u);
  EXPECT_TRUE(table.Insert(ItemOf(4)).ok());
}

TEST(ReplayTableTest, ResetForgetsItemsAndWhatTheLimiterCounted) {
  Alone table({.name = "replay", .rate_limiter = MinSizeLimiter(2)});
  for (uint64_t key = 1; key <= 5; ++key) {
    ASSERT_TRUE(table.Insert(ItemOf(key)).ok());
  }
  table.Sample(3);
  table.table.Reset();
  EXPECT_EQ(table.table.size(), 0u);
  EXPECT_EQ(table.table.bytes(), 0u);
  EXPECT_EQ(table.table.limiter().counts(), RateLimiterCounts());
  EXPECT_EQ(table.counts().reset, 5);
  EXPECT_EQ(table.table.Sample(1, table.random).status().code(),
            absl::StatusCode::kUnavailable);
  ASSERT_TRUE(table.Insert(ItemOf(1)).ok());
}

TEST(ReplayTableOptionsTest, ErrorsNameTableFieldRuleAndValue) {
  const auto message = [](const ReplayTableOptions& options) {
    const absl::Status status = Validate(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({}), "a table's name must have 1 to 255 bytes, got 0");
  EXPECT_TRUE(Contains(message({.name = std::string(256, 'x')}), "got 256"));
  EXPECT_EQ(message({.name = "a", .items_max = 0}),
            "table \"a\": items_max must be 1 to 1073741824, got 0");
  EXPECT_EQ(message({.name = "a", .bytes_max = 0}),
            "table \"a\": bytes_max must be >= 1, got 0");
  EXPECT_EQ(message({.name = "a", .rate_limiter = MinSizeLimiter(0)}),
            "table \"a\": rate_limiter: min_size_to_sample must be >= 1, got "
            "0");
  EXPECT_EQ(
      message(
          {.name = "a", .rate_limiter = MinSizeLimiter(11), .items_max = 10}),
      "table \"a\": rate_limiter: min_size_to_sample must be at most "
      "items_max 10, got 11");
  EXPECT_TRUE(
      Contains(message({.name = "a", .remover = {.priority_exponent = -1}}),
               "table \"a\": remover: priority_exponent must be"));
  EXPECT_TRUE(Contains(
      message({.name = "a", .when_full = static_cast<WhenTableFull>(4)}),
      "when_full must be 1 (remove), 2 (refuse) or 3 (wait), got 4"));
}

}  // namespace
}  // namespace flywheel
