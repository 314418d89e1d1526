#include "sim/environment_pool.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/sim/fake_environment.h"
#include "tests/sim/request_buffers.h"

namespace flywheel {
namespace {

// Which environments results are of, in no order.
using Environments = std::multiset<int>;

// A pool of fakes that the test can reach into while they are idle.
class EnvironmentPoolTest : public ::testing::Test {
 protected:
  void MakePool(int num_environments, int num_threads) {
    auto pool = EnvironmentPool::Create(
        {.num_environments = num_environments, .num_threads = num_threads},
        [&](int) {
          auto environment = std::make_unique<FakeEnvironment>();
          fakes_.push_back(environment.get());
          buffers_.emplace_back(FakeEnvironment::Spec(), 1);
          return environment;
        });
    ASSERT_TRUE(pool.ok()) << pool.status();
    pool_ = *std::move(pool);
  }

  void Submit(int environment) {
    pool_->Submit(buffers_[environment].ResetRequest(environment, 1));
  }

  // Which environments come back from one Receive().
  Environments Receive(std::size_t min_results) {
    std::vector<EnvironmentResult> results;
    pool_->Receive(min_results, results);
    Environments environments;
    for (const EnvironmentResult& result : results) {
      EXPECT_TRUE(result.status.ok()) << result.status;
      environments.insert(result.environment);
    }
    return environments;
  }

  std::counting_semaphore<> gate_{0};  // Outlives the pool's threads.
  std::vector<FakeEnvironment*> fakes_;
  std::vector<RequestBuffers> buffers_;
  std::unique_ptr<EnvironmentPool> pool_;
};

TEST_F(EnvironmentPoolTest, ReturnsEveryResultOnce) {
  MakePool(7, 3);
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 7; ++i) Submit(i);
    Environments seen;
    while (pool_->outstanding() > 0) {
      for (const int environment : Receive(2)) seen.insert(environment);
    }
    EXPECT_EQ(seen, Environments({0, 1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(EnvironmentPoolTest, ASlowEnvironmentDelaysOnlyItself) {
  MakePool(4, 2);
  fakes_[1]->gate = &gate_;
  Submit(1);
  for (int round = 0; round < 10; ++round) {
    Submit(0);
    Submit(2);
    EXPECT_EQ(Receive(2), Environments({0, 2}));
    EXPECT_EQ(pool_->outstanding(), 1u);
  }
  gate_.release();
  EXPECT_EQ(Receive(1), Environments({1}));
}

TEST_F(EnvironmentPoolTest, ReceiveOfZeroDoesNotWait) {
  MakePool(1, 1);
  fakes_[0]->gate = &gate_;
  Submit(0);
  EXPECT_EQ(Receive(0), Environments({}));
  gate_.release();
  EXPECT_EQ(Receive(1), Environments({0}));
}

TEST_F(EnvironmentPoolTest, ReceiveWaitsForNoMoreThanIsOutstanding) {
  MakePool(2, 1);
  EXPECT_EQ(Receive(5), Environments({}));
  Submit(0);
  EXPECT_EQ(Receive(5), Environments({0}));
}

TEST_F(EnvironmentPoolTest, AnEnvironmentKeepsItsThread) {
  MakePool(4, 2);
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) Submit(i);
    Receive(4);
    EXPECT_EQ(fakes_[0]->thread, fakes_[2]->thread);
    EXPECT_EQ(fakes_[1]->thread, fakes_[3]->thread);
    EXPECT_NE(fakes_[0]->thread, fakes_[1]->thread);
  }
}

TEST_F(EnvironmentPoolTest, WithoutThreadsWorksInReceiveAndNoMoreThanAsked) {
  MakePool(3, 0);
  for (const int environment : {2, 0, 1}) Submit(environment);
  EXPECT_EQ(fakes_[2]->thread, std::thread::id());
  EXPECT_EQ(Receive(2), Environments({2, 0}));
  EXPECT_EQ(fakes_[0]->thread, std::this_thread::get_id());
  EXPECT_EQ(fakes_[1]->thread, std::thread::id());
  EXPECT_EQ(pool_->outstanding(), 1u);
  EXPECT_EQ(Receive(2), Environments({1}));
}

TEST_F(EnvironmentPoolTest, AFailureReachesTheReceiverAndTheRestGoesOn) {
  MakePool(2, 1);
  fakes_[0]->fails_at_step = 1;
  Submit(0);
  Submit(1);
  std::vector<EnvironmentResult> results;
  pool_->Receive(2, results);
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(results[1].status.ok());
}

TEST_F(EnvironmentPoolTest, EndsWhileWorkIsQueued) {
  MakePool(6, 2);
  for (int i = 0; i < 6; ++i) Submit(i);
  pool_.reset();
}

TEST_F(EnvironmentPoolTest, RefusesASecondRequestForABusyEnvironment) {
  MakePool(1, 0);
  Submit(0);
  EXPECT_DEATH(Submit(0), "environment 0 has a request outstanding");
}

TEST_F(EnvironmentPoolTest, RefusesAnEnvironmentItDoesNotHave) {
  MakePool(1, 0);
  EXPECT_DEATH(pool_->Submit(buffers_[0].StepRequest(1)),
               "environment 1 is out of range");
}

TEST_F(EnvironmentPoolTest, RefusesSpansThatAreTooSmall) {
  MakePool(1, 0);
  EnvironmentRequest few = buffers_[0].StepRequest(0);
  few.num_steps = 2;
  EXPECT_DEATH(pool_->Submit(few), "fewer actions or rewards than num_steps");
  EnvironmentRequest quiet = buffers_[0].StepRequest(0);
  const float noise = 0.5f;
  quiet.expert_noise = {&noise, 1};  // Of two.
  EXPECT_DEATH(pool_->Submit(quiet), "less expert_noise than num_steps");
  EnvironmentRequest narrow = buffers_[0].StepRequest(0);
  narrow.observation[0] = narrow.observation[0].first(1);
  EXPECT_DEATH(pool_->Submit(narrow), "observation columns unlike the spec's");
}

std::string CreateError(const EnvironmentPool::Options& options) {
  const auto pool = EnvironmentPool::Create(options);
  EXPECT_EQ(pool.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(pool.status().message());
}

TEST(EnvironmentPoolCreateTest, RefusesSizesOutOfRange) {
  EXPECT_TRUE(absl::StrContains(
      CreateError({.task = "tabletop/reach", .num_environments = 0}),
      "num_environments must be from 1 to"));
  EXPECT_TRUE(absl::StrContains(
      CreateError({.task = "tabletop/reach", .num_threads = -1}),
      "num_threads must be from 0 to 4096, got -1"));
}

TEST(EnvironmentPoolCreateTest, NamesTheLikelyTask) {
  EXPECT_EQ(CreateError({.task = "tabletop/reech"}),
            "unknown task \"tabletop/reech\": did you mean "
            "\"tabletop/reach\"?");
}

TEST(EnvironmentPoolCreateTest, PassesOnWhatTheFactoryRefuses) {
  const auto pool = EnvironmentPool::Create(
      {.num_environments = 3},
      [](int index) -> absl::StatusOr<std::unique_ptr<Environment>> {
        if (index == 2) return absl::UnavailableError("no third one");
        return std::make_unique<FakeEnvironment>();
      });
  EXPECT_EQ(pool.status(), absl::UnavailableError("no third one"));
}

}  // namespace
}  // namespace flywheel
