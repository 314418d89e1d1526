#include "services/rollout/evaluation.h"

#include <cstdint>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/counting_environment_pool.h"

namespace flywheel {
namespace {

constexpr int kEpisodeSteps = 5;

// Always acts the same, and says what it was asked for.
class StillPolicy final : public ActingPolicy {
 public:
  absl::Status Load(const PolicySnapshot&) override { return absl::OkStatus(); }
  void Act(const ActingBatch& batch) override {
    with_noise |= !batch.noise.empty();
    for (float& action : batch.actions) action = 0;
  }
  bool with_noise = false;
};

class EvaluationTest : public testing::Test {
 protected:
  absl::StatusOr<EvaluationResult> Play(CountingEnvironmentPool& pool,
                                        int episodes) {
    return Evaluate(
        pool, policy_, {.episodes = episodes}, stop_.get_token(),
        [this](int64_t finished) { progress_.push_back(finished); });
  }

  CountingEnvironmentPool pool_{3, kEpisodeSteps};
  StillPolicy policy_;
  std::stop_source stop_;
  std::vector<int64_t> progress_;
};

TEST_F(EvaluationTest, PlaysAsManyEpisodesAsAskedForByTheMeanAction) {
  const auto result = Play(pool_, 8);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->returns, std::vector<double>(8, kEpisodeSteps));
  EXPECT_EQ(result->return_mean(), kEpisodeSteps);
  EXPECT_EQ(result->return_std(), 0);
  EXPECT_EQ(result->success_rate(), 0);
  EXPECT_EQ(progress_.back(), 8);
  EXPECT_FALSE(policy_.with_noise);
}

TEST_F(EvaluationTest, EpisodesHaveSeedsOfTheirOwnWhoeverPlaysThem) {
  ASSERT_TRUE(Play(pool_, 8).ok());
  CountingEnvironmentPool wide(5, kEpisodeSteps);
  ASSERT_TRUE(Play(wide, 8).ok());
  const auto seeds = [](const CountingEnvironmentPool& pool) {
    std::set<uint64_t> seeds(pool.seeds.begin(), pool.seeds.end());
    seeds.erase(0);
    return seeds;
  };
  EXPECT_EQ(seeds(pool_).size(), 8u);
  EXPECT_EQ(seeds(pool_), seeds(wide));
}

TEST_F(EvaluationTest, FewerEpisodesThanEnvironments) {
  const auto result = Play(pool_, 2);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->returns.size(), 2u);
}

TEST_F(EvaluationTest, NoRequestIsOutstandingAfterABrokenSimulation) {
  pool_.failing_environment = 1;
  EXPECT_TRUE(absl::IsInternal(Play(pool_, 8).status()));
  EXPECT_EQ(pool_.outstanding(), 0u);
}

TEST_F(EvaluationTest, NoRequestIsOutstandingAfterAStop) {
  stop_.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Play(pool_, 8).status()));
  EXPECT_EQ(pool_.outstanding(), 0u);
}

}  // namespace
}  // namespace flywheel
