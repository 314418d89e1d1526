#include "services/buffer/replay/rate_limiter.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/replay/wait_times.h"
#include "tests/testing/fake_clock.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

RateLimiter After(const RateLimiterOptions& options,
                  const RateLimiterCounts& counts) {
  RateLimiter limiter(options);
  limiter.set_counts(counts);
  return limiter;
}

struct Rule {
  std::string fact;
  RateLimiterOptions options;
  RateLimiterCounts counts;
  int64_t inserts = 0;  // That may follow at once.
  int64_t samples = 0;
};

// The largest number up to 10 that is allowed.
template <typename Can>
int64_t Most(Can can) {
  int64_t most = 0;
  while (most < 10 && can(most + 1)) ++most;
  return most;
}

// Reverb's own tests of its limiter, by the numbers; and its front ends.
TEST(RateLimiterTest, FollowsReverbsRules) {
  const RateLimiterOptions one = {1.0, 1, -1.0, 1.0};
  const RateLimiterOptions two = {1.5, 2, 0.0, 5.0};
  const RateLimiterOptions five = {5.0, 2, 0.0, 5.0};
  const std::vector<Rule> rules = {
      {"samples wait for the first item", one, {0, 0, 0}, 1, 0},
      {"samples may run ahead to min_diff", one, {1, 0, 0}, 0, 2},
      {"inserts below the minimum size are free", two, {0, 0, 0}, 3, 0},
      {"inserts wait above max_diff", two, {3, 0, 0}, 0, 4},
      {"each sample makes room", two, {3, 2, 0}, 1, 2},
      {"many inserts do not wait below max_diff",
       {1.5, 1, -3.0, 3.1},
       {1, 0, 0},
       1,
       4},
      {"inserts wait for samples", five, {2, 0, 0}, 0, 10},
      {"inserts still wait after one", five, {2, 1, 0}, 0, 9},
      {"a deletion below the minimum size frees inserts",
       five,
       {2, 1, 1},
       1,
       0},
      {"samples wait below the minimum size", five, {2, 0, 1}, 1, 0},
      {"a minimum size never stops inserts",
       MinSizeLimiter(3),
       {3, 0, 0},
       10,
       10},
      {"a minimum size stops samples", MinSizeLimiter(3), {2, 0, 0}, 10, 0},
      {"a queue takes its size", QueueLimiter(4), {0, 0, 0}, 4, 0},
      {"a queue gives each item once", QueueLimiter(4), {4, 1, 1}, 1, 3},
      {"an empty queue gives nothing", QueueLimiter(4), {4, 4, 4}, 4, 0},
      {"a ratio counts from the minimum size on",
       *SampleToInsertRatioLimiter(2.0, 5, 4.0),
       {5, 0, 0},
       2,
       4},
      {"a ratio holds inserts back",
       *SampleToInsertRatioLimiter(2.0, 5, 4.0),
       {7, 0, 0},
       0,
       8},
      {"a ratio holds samples back",
       *SampleToInsertRatioLimiter(2.0, 5, 4.0),
       {7, 8, 0},
       4,
       0},
  };
  for (const Rule& rule : rules) {
    const RateLimiter limiter = After(rule.options, rule.counts);
    EXPECT_EQ(Most([&](int64_t n) { return limiter.CanInsert(n); }),
              rule.inserts)
        << rule.fact;
    EXPECT_EQ(Most([&](int64_t n) { return limiter.CanSample(n); }),
              rule.samples)
        << rule.fact;
  }
}

TEST(RateLimiterTest, NeverLeavesItsBoundsAndNeverStopsBothSides) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const double ratio = 0.25 * static_cast<double>(1 + random() % 32);
    const auto min_size = static_cast<int64_t>(1 + random() % 20);
    const double buffer =
        std::max(1.0, ratio) * (1 + static_cast<double>(random() % 4));
    const auto options = SampleToInsertRatioLimiter(ratio, min_size, buffer);
    ASSERT_TRUE(options.ok()) << options.status();
    RateLimiter limiter(*options);
    for (int i = 0; i < 2000; ++i) {
      const bool may_insert = limiter.CanInsert();
      const bool may_sample = limiter.CanSample();
      ASSERT_TRUE(may_insert || may_sample);
      ASSERT_EQ(may_insert, limiter.InsertWaitsFor().empty());
      ASSERT_EQ(may_sample, limiter.SampleWaitsFor().empty());
      if (may_insert && (!may_sample || random() % 2 == 0)) {
        limiter.Inserted();
      } else {
        limiter.Sampled();
      }
      const double diff =
          static_cast<double>(limiter.counts().inserts) * ratio -
          static_cast<double>(limiter.counts().samples);
      ASSERT_LE(diff, options->max_diff);
      if (limiter.counts().inserts < min_size) continue;
      ASSERT_GE(diff, options->min_diff);
    }
  }
}

TEST(RateLimiterTest, SaysWhatIsMissing) {
  const RateLimiterOptions options = {5.0, 2, 0.0, 5.0};
  EXPECT_EQ(After(options, {0, 0, 0}).SampleWaitsFor(),
            "2 more items: it holds 0, and min_size_to_sample is 2");
  EXPECT_EQ(After(options, {2, 1, 0}).InsertWaitsFor(),
            "9 more samples: after 2 inserts and 1 samples 1 more inserts at "
            "5 samples each would be 9 above max_diff 5");
  EXPECT_EQ(After(options, {2, 10, 0}).SampleWaitsFor(),
            "1 more inserts: after 2 inserts at 5 samples each and 10 samples "
            "one more sample would be 1 below min_diff 0");
}

TEST(RateLimiterTest, KnowsHowManyInsertsItCouldEverTake) {
  const auto most = [](const RateLimiterOptions& options) {
    const RateLimiter limiter(options);
    return Most([&](int64_t n) { return limiter.CouldInsert(n); });
  };
  EXPECT_EQ(most(QueueLimiter(4)), 4);
  EXPECT_EQ(most(QueueLimiter(1)), 1);
  EXPECT_EQ(most(MinSizeLimiter(2)), 10);
  EXPECT_EQ(most(*SampleToInsertRatioLimiter(4.0, 2, 8.0)), 4);
  EXPECT_EQ(most(*SampleToInsertRatioLimiter(2.5, 1, 2.5)), 1);
  EXPECT_EQ(most(*SampleToInsertRatioLimiter(2.5, 1, 5.5)), 4);
}

TEST(RateLimiterTest, RefusesOptionsThatCannotWork) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const auto message = [](const RateLimiterOptions& options) {
    const absl::Status status = Validate(options);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_EQ(message({.min_size_to_sample = 0}),
            "min_size_to_sample must be >= 1, got 0");
  for (const double ratio : {0.0, -1.0, nan, infinity}) {
    EXPECT_TRUE(Contains(message({.samples_per_insert = ratio}),
                         "samples_per_insert must be above 0 and finite"));
  }
  EXPECT_TRUE(Contains(message({.min_diff = 2, .max_diff = 1}),
                       "min_diff must be at most max_diff"));
  EXPECT_TRUE(Contains(message({.max_diff = nan}), "min_diff must be"));
  EXPECT_TRUE(Contains(message({.max_diff = infinity}), "both finite"));
  EXPECT_TRUE(Contains(message({.min_diff = 1.5, .max_diff = 9}),
                       "min_diff must be at most samples_per_insert * "
                       "min_size_to_sample = 1"));
  EXPECT_TRUE(
      Contains(SampleToInsertRatioLimiter(8.0, 1, 7.5).status().message(),
               "error_buffer must be >= 8"));
  EXPECT_TRUE(
      Contains(SampleToInsertRatioLimiter(0.5, 1, nan).status().message(),
               "error_buffer must be >= 1"));
}

TEST(WaitTimesTest, CountsThoseThatWaitAndThoseThatDid) {
  FakeClock clock;
  WaitTimes waits;
  const absl::Time first = clock.Now();
  waits.Began(first);
  clock.Advance(absl::Seconds(2));
  const absl::Time second = clock.Now();
  waits.Began(second);
  clock.Advance(absl::Seconds(3));
  waits.Ended(first, clock.Now());
  clock.Advance(absl::Seconds(1));

  const WaitTimes::Totals totals = waits.At(clock.Now());
  EXPECT_EQ(totals.waiting, 1);
  EXPECT_EQ(totals.waited, 1);
  EXPECT_EQ(totals.total, absl::Seconds(5 + 4));
  EXPECT_EQ(totals.longest, absl::Seconds(5));
}

}  // namespace
}  // namespace flywheel
