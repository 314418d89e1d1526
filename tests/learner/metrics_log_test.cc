#include "services/learner/metrics_log.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "services/learner/budget.h"
#include "services/learner/episode_window.h"

namespace flywheel {
namespace {

class MetricsLogTest : public testing::Test {
 protected:
  ~MetricsLogTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> Lines() {
    std::ifstream file(path_);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-metrics-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  const std::string path_ = folder_ + "/metrics.jsonl";
};

TEST_F(MetricsLogTest, WritesOneObjectPerLineWithNullForNotANumber) {
  absl::StatusOr<MetricsLog> log = MetricsLog::Open(path_, 0);
  ASSERT_TRUE(log.ok());
  log->Write("training", {{"train_step", 1}, {"loss", 0.5}});
  log->Write("training", {{"train_step", 2}, {"loss", std::nan("")}});
  EXPECT_EQ(Lines(),
            (std::vector<std::string>{
                R"({"phase":"training","train_step":1,"loss":0.5})",
                R"({"phase":"training","train_step":2,"loss":null})"}));
}

TEST_F(MetricsLogTest, ARestartCutsOffTheStepsItWillRepeat) {
  {
    absl::StatusOr<MetricsLog> log = MetricsLog::Open(path_, 0);
    for (int step = 1; step <= 5; ++step) {
      log->Write("training", {{"train_step", static_cast<double>(step)}});
    }
  }
  std::ofstream(path_, std::ios::app) << R"({"phase":"training","trai)";
  absl::StatusOr<MetricsLog> log = MetricsLog::Open(path_, 3);
  log->Write("training", {{"train_step", 4}});
  const std::vector<std::string> lines = Lines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[2], R"({"phase":"training","train_step":3})");
  EXPECT_EQ(lines[3], R"({"phase":"training","train_step":4})");
}

TEST(BudgetShareTest, TheLimitNearestItsEndCounts) {
  const BudgetSpec budget = {.environment_steps = 1000, .seconds = 10};
  EXPECT_DOUBLE_EQ(
      BudgetShare(budget, {.environment_steps = 100, .seconds = 5}), 0.5);
  EXPECT_DOUBLE_EQ(
      BudgetShare(budget, {.environment_steps = 1000, .seconds = 5}), 1.0);
  EXPECT_DOUBLE_EQ(BudgetShare({}, {.environment_steps = 5}), 0);
}

TEST(EpisodeWindowTest, MeansAreOfTheLastEpisodesOnly) {
  EpisodeWindow window(2);
  EXPECT_TRUE(std::isnan(window.return_mean()));
  window.Add(100, true);
  window.Add(1, false);
  window.Add(3, true);
  EXPECT_DOUBLE_EQ(window.return_mean(), 2);
  EXPECT_DOUBLE_EQ(window.success_rate(), 0.5);
  EXPECT_EQ(window.count(), 3);
}

}  // namespace
}  // namespace flywheel
