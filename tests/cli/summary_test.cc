#include "cli/summary.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <sstream>

namespace flywheel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Job TrainedJob() {
  Job job;
  job.job_id = "j1";
  job.spec.name = "reach";
  job.spec.task = "tabletop/reach";
  job.spec.seed = 7;
  job.state = JobState::kSucceeded;
  job.learner = LearnerStatus{.train_steps = 100,
                              .environment_steps = 51200,
                              .seconds = 20,
                              .episode_return_mean = 3.5,
                              .success_rate = kNan,
                              .episodes = 900};
  return job;
}

MetricsTable MetricsFrom(const std::string& text) {
  MetricsTable metrics;
  std::istringstream file(text);
  metrics.Read(file);
  return metrics;
}

TEST(LagTest, CountsNothingAsZeros) {
  const LagFigures lag = LagOf({});
  EXPECT_EQ(lag.mean, 0);
  EXPECT_EQ(lag.max, 0);
}

TEST(LagTest, PercentilesAreTheLeastLagThatEnoughChunksDoNotExceed) {
  // 50 of 0, 49 of 1, 1 of 4.
  const LagFigures lag = LagOf({{0, 50}, {1, 49}, {4, 1}});
  EXPECT_DOUBLE_EQ(lag.mean, 0.53);
  EXPECT_EQ(lag.p50, 0);
  EXPECT_EQ(lag.p99, 1);
  EXPECT_EQ(lag.max, 4);
}

TEST(LagTest, OneChunkIsEveryPercentile) {
  const LagFigures lag = LagOf({{3, 1}});
  EXPECT_EQ(lag.p50, 3);
  EXPECT_EQ(lag.p99, 3);
  EXPECT_EQ(lag.max, 3);
}

TEST(LagTest, LagsThatNobodyHadDoNotCount) {
  EXPECT_EQ(LagOf({{0, 10}, {9, 0}}).max, 0);
}

TEST(SharesTest, SumToOneOverAllProcesses) {
  const auto shares = Shares({{{"busy", 6}, {"waiting_for_credits", 2}},
                              {{"busy", 1}, {"waiting_for_policy", 1}},
                              {{"busy", kNan}, {"x", -1}}});
  EXPECT_DOUBLE_EQ(shares.at("busy"), 0.7);
  EXPECT_DOUBLE_EQ(shares.at("waiting_for_credits"), 0.2);
  EXPECT_DOUBLE_EQ(shares.at("waiting_for_policy"), 0.1);
  double sum = 0;
  for (const auto& [cause, share] : shares) sum += share;
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(SharesTest, AreEmptyWhereNoTimePassed) {
  EXPECT_TRUE(Shares({}).empty());
  EXPECT_TRUE(Shares({{{"busy", 0}}}).empty());
}

TEST(DropsTest, OneSeenFromBothEndsCountsOnce) {
  Job job;
  job.rollouts = {RolloutStatus{.drops = {{"revoked", 2}}},
                  RolloutStatus{.drops = {{"revoked", 1}, {"stale", 1}}}};
  job.buffer = BufferStatus{.drops = {{"revoked", 2}, {"full", 5}}};
  const std::map<std::string, int64_t> expected = {
      {"full", 5}, {"revoked", 3}, {"stale", 1}};
  EXPECT_EQ(Drops(job), expected);
}

TEST(SummaryTest, HoldsTheFiguresOfTheFinalEvaluation) {
  Job job = TrainedJob();
  job.evaluations = {
      {.environment_steps = 20000, .episode_return_mean = 1, .success_rate = 1},
      {.episode_return_mean = 4.5, .success_rate = 0.9, .final = true}};
  const auto summary = Summary(job, MetricsTable());
  EXPECT_EQ(summary["state"], "SUCCEEDED");
  EXPECT_EQ(summary["episode_return_mean"], 4.5);
  EXPECT_EQ(summary["success_rate"], 0.9);
  EXPECT_EQ(summary["environment_steps"], 51200);
  EXPECT_EQ(summary["environment_steps_per_second"], 2560);
  EXPECT_EQ(summary["training"]["episode_return_mean"], 3.5);
  EXPECT_TRUE(summary["training"]["success_rate"].is_null());
  EXPECT_EQ(summary["evaluations"].size(), 2);
  EXPECT_EQ(summary["policy_lag"]["limit"], 4);
}

TEST(SummaryTest, WithoutAFinalEvaluationItsFiguresAreNull) {
  Job job = TrainedJob();
  job.state = JobState::kCancelled;
  job.evaluations = {{.episode_return_mean = 1, .success_rate = 1}};
  const auto summary = Summary(job, MetricsTable());
  EXPECT_EQ(summary["state"], "CANCELLED");
  EXPECT_TRUE(summary["episode_return_mean"].is_null());
  EXPECT_TRUE(summary["success_rate"].is_null());
}

TEST(SummaryTest, AJobThatNeverRanHasOneToo) {
  Job job;
  job.state = JobState::kFailed;
  job.message = "rollout 0 ended with exit code 64: unknown task \"\xff\"";
  const auto summary = Summary(job, MetricsTable());
  EXPECT_EQ(summary["train_steps"], 0);
  EXPECT_EQ(summary["environment_steps_per_second"], 0);
  EXPECT_TRUE(summary["evaluations"].is_array());
  EXPECT_TRUE(summary["recoveries"].is_array());
  EXPECT_TRUE(summary["drops"].is_object());
  EXPECT_TRUE(summary["finished"].is_null());
}

TEST(SummaryTest, TheLargestLagIsThatOfAllLearnerProcesses) {
  Job job = TrainedJob();
  job.learner->policy_lag_counts = {{0, 5}, {1, 5}};
  const auto metrics = MetricsFrom(R"({"phase":"training","policy_lag_max":3})"
                                   "\n"
                                   R"({"phase":"training","policy_lag_max":1})"
                                   "\n");
  EXPECT_EQ(Summary(job, metrics)["policy_lag"]["max"], 3);
  EXPECT_EQ(Summary(job, MetricsTable())["policy_lag"]["max"], 1);
}

TEST(SummaryTest, RecoveriesSayHowLongTheyTook) {
  Job job = TrainedJob();
  const absl::Time died = absl::FromUnixSeconds(1000);
  job.recoveries = {
      {.role = Role::kLearner,
       .died = died,
       .rejoined = died + absl::Milliseconds(1500),
       .producing = died + absl::Seconds(3),
       .reason = "signal 9",
       .train_steps_lost = 12},
      {.role = Role::kRollout, .index = 2, .died = died, .reason = "signal 9"}};
  const auto summary = Summary(job, MetricsTable());
  EXPECT_EQ(summary["recoveries"][0]["role"], "learner");
  EXPECT_EQ(summary["recoveries"][0]["seconds_to_rejoin"], 1.5);
  EXPECT_EQ(summary["recoveries"][0]["seconds_to_produce"], 3);
  EXPECT_EQ(summary["recoveries"][0]["train_steps_lost"], 12);
  EXPECT_TRUE(summary["recoveries"][1]["seconds_to_rejoin"].is_null());
}

TEST(SummaryTest, AResumedRunKeepsTheEvaluationsFromBefore) {
  Job job = TrainedJob();
  job.evaluations = {{.policy_version = 20, .final = true}};
  auto summary = Summary(job, MetricsTable());
  AddEarlierEvaluations(
      nlohmann::json::parse(
          R"({"evaluations":[{"policy_version":10,"final":true},
              {"policy_version":20,"final":true}, 3]})"),
      summary);
  ASSERT_EQ(summary["evaluations"].size(), 2);
  EXPECT_EQ(summary["evaluations"][0]["policy_version"], 10);
  EXPECT_EQ(summary["evaluations"][0]["final"], false);
  EXPECT_EQ(summary["evaluations"][1]["final"], true);
  AddEarlierEvaluations(nullptr, summary);
  EXPECT_EQ(summary["evaluations"].size(), 2);
}

TEST(MetricsTableTest, PassesOverLinesItCannotUse) {
  const auto metrics = MetricsFrom(
      "{\"phase\":\"training\",\"a\":1,\"b\":2}\n"
      "\n"
      "not json\n"
      "[1]\n"
      "{\"a\":1,\"b\":1}\n"
      "{\"phase\":7,\"a\":1,\"b\":1}\n"
      "{\"phase\":\"training\",\"a\":2,\"b\":null}\n"
      "{\"phase\":\"training\",\"a\":3,\"b\":\"x\"}\n"
      "{\"phase\":\"training\",\"a\":4,\"b\":5}\n"
      "{\"phase\":\"training\",\"a\":5,\"b\"");
  const auto curve = metrics.Curve("training", "a", "b");
  ASSERT_EQ(curve.size(), 2);
  EXPECT_EQ(curve[1].x, 4);
  EXPECT_EQ(curve[1].y, 5);
  EXPECT_EQ(metrics.Max("training", "b"), 5);
  EXPECT_TRUE(std::isnan(metrics.Max("imitation", "b")));
  EXPECT_TRUE(metrics.Curve("imitation", "a", "b").empty());
}

TEST(MetricsTableTest, ThinsOutWhatWouldBeTooLong) {
  MetricsTable metrics(100);
  std::ostringstream text;
  for (int i = 0; i < 10000; ++i) {
    text << R"({"phase":"training","step":)" << i << R"(,"lag":)"
         << (i == 7777 ? 9 : 0) << "}\n";
  }
  std::istringstream file(text.str());
  metrics.Read(file);
  EXPECT_LT(metrics.lines("training"), 100);
  EXPECT_GE(metrics.lines("training"), 50);
  EXPECT_EQ(metrics.Max("training", "lag"), 9);
  const auto curve = metrics.Curve("training", "step", "lag");
  const double gap = curve[1].x - curve[0].x;
  for (std::size_t i = 1; i < curve.size(); ++i) {
    EXPECT_EQ(curve[i].x - curve[i - 1].x, gap);
  }
}

TEST(MetricsTableTest, ManyMadeUpPhasesDoNotFillTheMemory) {
  MetricsTable metrics;
  std::ostringstream text;
  for (int i = 0; i < 1000; ++i) {
    text << R"({"phase":"p)" << i << R"(","a":1})"
         << "\n";
  }
  std::istringstream file(text.str());
  metrics.Read(file);
  EXPECT_EQ(metrics.lines("p0"), 1);
  EXPECT_EQ(metrics.lines("p999"), 0);
}

}  // namespace
}  // namespace flywheel
