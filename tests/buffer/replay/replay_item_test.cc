#include "services/buffer/replay/replay_item.h"

#include <cmath>
#include <limits>
#include <string>

#include "gtest/gtest.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

std::string ErrorOf(const ReplayItem& item) {
  const absl::Status status = CheckSteps(item);
  EXPECT_TRUE(status.ok() ||
              status.code() == absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

ReplayItem Range(uint64_t last, uint32_t first_offset, uint32_t num_steps) {
  ReplayItem item = ItemOf(1, 0, last);
  item.first_offset = first_offset;
  item.num_steps = num_steps;
  return item;
}

TEST(CheckStepsTest, TakesEveryRangeThatNeedsAllItsRecords) {
  EXPECT_EQ(ErrorOf(Range(0, 0, 1)), "");
  EXPECT_EQ(ErrorOf(Range(0, 9, 1)), "");
  EXPECT_EQ(ErrorOf(Range(0, 0, 10)), "");
  EXPECT_EQ(ErrorOf(Range(1, 9, 2)), "");
  EXPECT_EQ(ErrorOf(Range(1, 0, 20)), "");
  EXPECT_EQ(ErrorOf(Range(2, 5, 16)), "");
  EXPECT_EQ(ErrorOf(Range(2, 5, 25)), "");
}

TEST(CheckStepsTest, RefusesAllOthersByTheirRule) {
  EXPECT_TRUE(
      Contains(ErrorOf({.num_steps = 1}), "records must be 1 to 4096, got 0"));
  EXPECT_TRUE(Contains(ErrorOf(Range(4096, 0, 40'970)), "got 4097"));
  EXPECT_TRUE(Contains(ErrorOf(Range(0, 10, 1)),
                       "first_offset must be below the 10 steps of record 0, "
                       "got 10"));
  EXPECT_TRUE(Contains(ErrorOf(Range(0, 0, 0)), "num_steps must be 1 to 10"));
  EXPECT_TRUE(Contains(ErrorOf(Range(0, 4, 7)), "num_steps must be 1 to 6"));
  EXPECT_TRUE(Contains(ErrorOf(Range(2, 5, 15)), "num_steps must be 16 to 25"));
  EXPECT_TRUE(Contains(ErrorOf(Range(2, 5, 26)), "got 26"));
}

TEST(CheckStepsTest, RefusesRecordsThatDoNotFollowEachOther) {
  ReplayItem item = ItemOf(1, 0, 2);
  item.records[2].episode = 8;
  EXPECT_EQ(ErrorOf(item),
            "records must be of one episode, but record 1 is of episode 1 and "
            "record 2 of 8");
  item = ItemOf(1, 0, 2);
  item.records[1].first_step = 11;
  EXPECT_EQ(ErrorOf(item),
            "records must be consecutive: record 1 must begin at step 10, "
            "where record 0 ends; it begins at 11");
  item = ItemOf(1, 0, 1);
  item.records[1] = item.records[0];
  EXPECT_TRUE(Contains(ErrorOf(item), "records must be consecutive"));
  item = ItemOf(1, 0, 0);
  item.records[0].num_steps = 0;
  EXPECT_TRUE(Contains(ErrorOf(item), "first_offset must be below the 0"));
}

TEST(CheckPriorityTest, TakesZeroToItsLimitAndNothingElse) {
  for (const double priority : {0.0, -0.0, 1e-300, 1.0, 1e30}) {
    EXPECT_TRUE(CheckPriority(priority).ok()) << priority;
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double priority :
       {-1e-300, -1.0, 1.1e30, infinity, -infinity, std::nan("")}) {
    EXPECT_EQ(CheckPriority(priority).code(),
              absl::StatusCode::kInvalidArgument)
        << priority;
  }
  EXPECT_EQ(CheckPriority(-2.5).message(),
            "priority must be 0 to 1e+30, got -2.5");
}

}  // namespace
}  // namespace flywheel
