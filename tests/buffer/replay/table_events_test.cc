#include "services/buffer/replay/table_events.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/replay/table_set.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

std::vector<NamedTableEvent> OneOfEach() {
  return {
      {"replay", InsertEvent{.key = 7,
                             .priority = 2.5,
                             .records = {{100}, {101}, {99}},
                             .first_offset = 3,
                             .num_steps = 200}},
      {"replay", SampleEvent{.keys = {7, 7, ~uint64_t{0}}}},
      {"queue", RemoveEvent{.cause = RemovalCause::kLost, .keys = {1, 2}}},
      {"replay", PriorityEvent{.priorities = {{7, 0.0}, {8, 1e30}}}},
      {"replay", ResetEvent{}},
  };
}

std::vector<std::byte> BytesOf(const std::vector<NamedTableEvent>& events) {
  TableEvents bytes;
  for (const NamedTableEvent& event : events) {
    bytes.Add(event.table, event.event);
  }
  return bytes.Take();
}

std::unique_ptr<TableSet> Tables() {
  auto set = TableSet::Create({{.name = "replay", .items_max = 100},
                               {.name = "queue", .items_max = 100}});
  EXPECT_TRUE(set.ok());
  return *std::move(set);
}

absl::Status Apply(TableSet& set, const std::vector<NamedTableEvent>& events) {
  return set.Apply(BytesOf(events), SizeOf);
}

TEST(TableEventsTest, SurviveTheirBytes) {
  const auto events = TableEventsFromBytes(BytesOf(OneOfEach()));
  ASSERT_TRUE(events.ok()) << events.status();
  EXPECT_EQ(*events, OneOfEach());
}

TEST(TableEventsTest, NameTheirTableOnceInARow) {
  TableEvents events;
  events.Add("replay", ResetEvent{});
  const std::size_t size = events.size();
  events.Add("replay", ResetEvent{});
  EXPECT_EQ(events.size(), size + 1);
  events.Take();
  EXPECT_TRUE(events.empty());
  events.Add("replay", ResetEvent{});
  EXPECT_EQ(events.size(), size);
}

TEST(TableEventsTest, CutShortTheyAreAnErrorOrWholeEvents) {
  const std::vector<std::byte> bytes = BytesOf(OneOfEach());
  int whole = 0;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto events = TableEventsFromBytes(std::span(bytes).first(size));
    if (events.ok()) {
      ++whole;
      continue;
    }
    EXPECT_EQ(events.status().code(), absl::StatusCode::kDataLoss);
    EXPECT_TRUE(Contains(events.status().message(), "table events of"));
  }
  // At the end of each event but the last, behind a table's name, and nothing.
  EXPECT_EQ(whole, 4 + 3 + 1);
}

TEST(TableEventsTest, EveryByteMayBeWrongWithoutHarm) {
  const std::vector<std::byte> bytes = BytesOf(OneOfEach());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::vector<std::byte> wrong = bytes;
      wrong[at] = static_cast<std::byte>(value);
      const auto set = Tables();
      if (set->Apply(wrong, SizeOf).ok()) continue;
      set->TakeImages();
    }
  }
}

TEST(TableEventsTest, WithAWrongPriorityTheyAreRefused) {
  for (const double priority : {-1.0, std::nan(""), 1e31}) {
    EXPECT_FALSE(
        TableEventsFromBytes(
            BytesOf({{"a", PriorityEvent{.priorities = {{1, priority}}}}}))
            .ok());
  }
}

TEST(ApplyTest, NamesTheTableThatIsNotThere) {
  const auto set = Tables();
  const absl::Status status = Apply(*set, {{"other", ResetEvent{}}});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status.message(), "no table \"other\"; there are"));
}

TEST(ApplyTest, NamesTheKeyThatDoesNotFit) {
  const InsertEvent insert = {
      .key = 7, .priority = 1, .records = {{1}}, .num_steps = 1};
  const auto set = Tables();
  ASSERT_TRUE(Apply(*set, {{"replay", insert}}).ok());
  const absl::Status twice = Apply(*set, {{"replay", insert}});
  EXPECT_EQ(twice.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(twice.message(),
            "table \"replay\", item of key 7: event inserts it, but it is "
            "there already");
  for (const TableEvent& event : std::vector<TableEvent>{
           SampleEvent{.keys = {8}},
           RemoveEvent{.cause = RemovalCause::kFull, .keys = {8}},
           PriorityEvent{.priorities = {{8, 1.0}}}}) {
    const absl::Status status = Apply(*set, {{"replay", event}});
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
    EXPECT_EQ(status.message(),
              "table \"replay\", item of key 8: event names it, but it is not "
              "there");
  }
}

TEST(ApplyTest, ItemsOfLostRecordsGoAtTheEnd) {
  const auto without_record_5 = [](RecordId id) -> std::optional<uint32_t> {
    if (id.value == 5) return std::nullopt;
    return kRecordSize;
  };
  SeededBits random(1);
  const auto source = Tables();
  for (uint64_t key = 0; key < 10; ++key) {
    const std::vector<TableInsert> inserts = {
        {"replay", ItemOf(key, key, key + 1)}, {"queue", ItemOf(key)}};
    ASSERT_TRUE(source->Insert(inserts, random).ok());
  }
  ASSERT_TRUE((*source->Find("replay"))->Sample(20, random).ok());
  (*source->Find("queue"))->Delete(std::vector<uint64_t>{5});

  const auto set = Tables();
  ASSERT_TRUE(set->Apply(source->TakeEvents(), without_record_5).ok());
  EXPECT_EQ(set->references().num_lost(), 1u);
  EXPECT_EQ(set->RemoveLost(), 2);  // 4 and 5 of "replay".
  EXPECT_EQ((*set->Find("replay"))->size(), 8u);
  EXPECT_EQ((*set->Find("queue"))->size(), 9u);
  EXPECT_EQ((*set->Find("replay"))->Info({}).counts.lost, 2);
  EXPECT_TRUE(set->has_events());
  EXPECT_EQ(set->RemoveLost(), 0);
}

}  // namespace
}  // namespace flywheel
