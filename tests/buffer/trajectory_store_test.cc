#include "services/buffer/trajectory_store.h"

#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

// One record of `bytes` whose place in a list the rest says.
StoredRecord Record(std::size_t bytes, uint64_t environment = 0,
                    uint64_t episode = 0, uint64_t first_step = 0) {
  return {.header = {.environment = environment,
                     .episode = episode,
                     .first_step = first_step},
          .frame = MessageFrame(std::vector<std::byte>(bytes))};
}

std::vector<std::size_t> Sizes(const std::vector<MessageFrame>& frames) {
  std::vector<std::size_t> sizes;
  for (const MessageFrame& frame : frames) sizes.push_back(frame.size());
  return sizes;
}

TEST(TrajectoryStoreTest, AListIsSortedByEnvironmentEpisodeAndFirstStep) {
  TrajectoryStore store({});
  const Credit late{.id = 1};
  const Credit early{.id = 2};
  ASSERT_TRUE(
      store.Insert(late, {Record(4, 1, 0, 0), Record(2, 0, 1, 9)}).ok());
  ASSERT_TRUE(
      store.Insert(early, {Record(1, 0, 0, 50), Record(3, 0, 2, 0)}).ok());
  store.MakeList(7, {late, early});
  ASSERT_NE(store.lists().Find(7), nullptr);
  EXPECT_EQ(Sizes(*store.lists().Find(7)),
            (std::vector<std::size_t>{1, 2, 3, 4}));
  EXPECT_EQ(store.queue().size(), 0u);
}

TEST(TrajectoryStoreTest, CountsRecordsAndBytesWhereverTheyAre) {
  TrajectoryStore store({.demonstrations_max = 1});
  ASSERT_TRUE(store.Insert({.id = 1}, {Record(10), Record(20)}).ok());
  ASSERT_TRUE(store.Insert({.id = 2}, {Record(40)}).ok());
  ASSERT_TRUE(
      store.Insert({.id = 3, .kind = CreditKind::kDemonstration}, {Record(80)})
          .ok());
  EXPECT_EQ(store.num_records(), 4u);
  EXPECT_EQ(store.bytes(), 150u);
  store.MakeList(0, {{.id = 1}});
  EXPECT_EQ(store.num_records(), 4u);
  EXPECT_EQ(store.bytes(), 150u);
  store.lists().ReleaseBefore(1);
  EXPECT_EQ(store.num_records(), 2u);
  EXPECT_EQ(store.bytes(), 120u);
  EXPECT_EQ(store.ClearTraining(), 1u);
  EXPECT_EQ(store.bytes(), 80u);  // Demonstrations stay.
}

TEST(TrajectoryStoreTest, ReleaseKeepsTheListsFromThatStepOn) {
  TrajectoryStore store({});
  for (int64_t step = 3; step < 6; ++step) {
    const Credit credit{.id = static_cast<uint64_t>(step)};
    ASSERT_TRUE(store.Insert(credit, {Record(1)}).ok());
    store.MakeList(step, {credit});
  }
  store.lists().ReleaseBefore(4);
  EXPECT_EQ(store.lists().Find(3), nullptr);
  EXPECT_NE(store.lists().Find(4), nullptr);
  EXPECT_NE(store.lists().Find(5), nullptr);
}

TEST(TrajectoryStoreTest, WhereMemoryIsShortTheOldestListsGo) {
  TrajectoryStore store({.bytes_max = 100});
  for (int64_t step = 0; step < 2; ++step) {
    const Credit credit{.id = static_cast<uint64_t>(step + 1)};
    ASSERT_TRUE(store.Insert(credit, {Record(40)}).ok());
    store.MakeList(step, {credit});
  }
  ASSERT_TRUE(store.Insert({.id = 9}, {Record(30)}).ok());
  EXPECT_EQ(store.lists().Find(0), nullptr);
  EXPECT_NE(store.lists().Find(1), nullptr);
  EXPECT_EQ(store.lists_evicted(), 1);
  EXPECT_EQ(store.bytes(), 70u);
}

// It may be on its way to the learner, or be asked for again.
TEST(TrajectoryStoreTest, TheNewestListStaysHoweverShortMemoryIs) {
  TrajectoryStore store({.bytes_max = 100});
  ASSERT_TRUE(store.Insert({.id = 1}, {Record(60)}).ok());
  store.MakeList(0, {{.id = 1}});
  EXPECT_FALSE(store.Insert({.id = 2}, {Record(50)}).ok());
  EXPECT_NE(store.lists().Find(0), nullptr);
}

TEST(TrajectoryStoreTest, RefusesWhatDoesNotFitWithoutAnyList) {
  TrajectoryStore store({.bytes_max = 100});
  ASSERT_TRUE(store.Insert({.id = 1}, {Record(60)}).ok());
  const absl::Status full = store.Insert({.id = 2}, {Record(50)});
  EXPECT_EQ(full.message(),
            "resources.buffer_bytes_max is 100 bytes; the buffer holds 60, "
            "credit 2 brought 50");
  EXPECT_EQ(store.num_records(), 1u);
}

}  // namespace
}  // namespace flywheel
