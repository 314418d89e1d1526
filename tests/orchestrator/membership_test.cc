#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "services/wire/membership_client.h"
#include "tests/orchestrator/running_orchestrator.h"
#include "tests/testing/text_assertions.h"
#include "tests/testing/wait_until.h"

namespace flywheel {
namespace {

using std::chrono::seconds;

constexpr Slot kBuffer{.role = Role::kBuffer};
constexpr Slot kLearner{.role = Role::kLearner};
constexpr Slot kRollout{.role = Role::kRollout};

// Members over the real client, service and socket.
class MembershipTest : public ::testing::Test {
 protected:
  MembershipTest() {
    job_id_ = running_.orchestrator()
                  .CreateJob(RunningOrchestrator::SmallRequest())
                  ->job_id;
    EXPECT_TRUE(running_.placement().AwaitStarts(3));
  }

  MembershipClient::Options OptionsFor(const Member& member) const {
    return {.orchestrator = running_.target(),
            .job_id = job_id_,
            .member = member,
            .join_limit = absl::Seconds(5),
            .silence_limit = absl::Seconds(2)};
  }

  std::unique_ptr<MembershipClient> Join(const Slot& slot,
                                         std::stop_source stop = {}) {
    auto client = MembershipClient::Join(
        OptionsFor(running_.placement().MemberOf(slot)), std::move(stop));
    EXPECT_TRUE(client.ok()) << client.status();
    return client.ok() ? *std::move(client) : nullptr;
  }

  Job Now() { return *running_.orchestrator().GetJob(job_id_); }

  RunningOrchestrator running_;
  std::string job_id_;
};

TEST_F(MembershipTest, AMemberLearnsItsAssignment) {
  const auto client = Join(kRollout);
  EXPECT_EQ(client->assignment().job.task, "counting");
  EXPECT_EQ(client->assignment().buffer_endpoint,
            "ipc://" + running_.socket_folder() + "/buffer-0.data");
  EXPECT_EQ(client->end_reason(), MembershipClient::EndReason::kNone);
}

TEST_F(MembershipTest, TheJobRunsOnceAllAreMembers) {
  const auto buffer = Join(kBuffer);
  const auto learner = Join(kLearner);
  EXPECT_NE(Now().state, JobState::kRunning);
  const auto rollout = Join(kRollout);
  EXPECT_TRUE(
      WaitUntil([&] { return Now().state == JobState::kRunning; }, seconds(5)));
}

TEST_F(MembershipTest, ReportNowIsHeardBeforeItReturns) {
  const auto client = Join(kRollout);
  ASSERT_TRUE(
      client
          ->ReportNow(RolloutStatus{.environment_steps = 42}, absl::Seconds(5))
          .ok());
  EXPECT_EQ(Now().rollouts[0].environment_steps, 42);
}

TEST_F(MembershipTest, ReportsGoOutWithTheNextHeartbeat) {
  const auto client = Join(kRollout);
  client->Report(RolloutStatus{.environment_steps = 1});
  client->Report(RolloutStatus{.environment_steps = 2});
  EXPECT_TRUE(WaitUntil(
      [&] { return Now().rollouts[0].environment_steps == 2; }, seconds(5)));
}

TEST_F(MembershipTest, TheLastStatusIsSentAtTheEnd) {
  auto client = Join(kRollout);
  client->Report(RolloutStatus{.environment_steps = 7});
  client.reset();
  EXPECT_EQ(Now().rollouts[0].environment_steps, 7);
}

TEST_F(MembershipTest, AMemberOfACancelledJobIsToldToDrain) {
  std::stop_source stop;
  running_.placement().HoldOnStop();
  const auto client = Join(kLearner, stop);
  EXPECT_FALSE(stop.stop_requested());
  ASSERT_TRUE(running_.orchestrator().CancelJob(job_id_).ok());
  EXPECT_TRUE(WaitUntil([&] { return stop.stop_requested(); }, seconds(5)));
  EXPECT_EQ(client->end_reason(), MembershipClient::EndReason::kDrain);
}

TEST_F(MembershipTest, AMemberWhosePlaceWasTakenIsFenced) {
  std::stop_source stop;
  const Member old = running_.placement().MemberOf(kRollout);
  const auto client = Join(kRollout, stop);
  running_.placement().End(kRollout, {.signal = 9});
  ASSERT_TRUE(running_.placement().AwaitStarts(4));
  EXPECT_TRUE(WaitUntil([&] { return stop.stop_requested(); }, seconds(5)));
  EXPECT_EQ(client->end_reason(), MembershipClient::EndReason::kFenced);
  EXPECT_EQ(client->ReportNow(RolloutStatus{}, absl::Seconds(1)).code(),
            absl::StatusCode::kUnavailable);
  const absl::Status again =
      MembershipClient::Join(OptionsFor(old), std::stop_source()).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(MembershipTest, JoiningAnUnknownJobFailsAtOnce) {
  MembershipClient::Options options =
      OptionsFor(running_.placement().MemberOf(kRollout));
  options.job_id = "nobody";
  const absl::Status status =
      MembershipClient::Join(options, std::stop_source()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
}

TEST_F(MembershipTest, JoiningWaitsForAnOrchestratorThatIsNotThereYet) {
  running_.StopServer();
  std::thread later([this] { running_.StartServer(); });
  EXPECT_NE(Join(kRollout), nullptr);
  later.join();
}

TEST_F(MembershipTest, JoiningGivesUpAtItsLimit) {
  running_.StopServer();
  MembershipClient::Options options =
      OptionsFor(running_.placement().MemberOf(kRollout));
  options.join_limit = absl::ZeroDuration();
  const absl::Status status =
      MembershipClient::Join(options, std::stop_source()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(status.message(), "could not join job " + job_id_));
}

TEST_F(MembershipTest, ABrokenConnectionIsMadeAgain) {
  std::stop_source stop;
  const auto client = Join(kRollout, stop);
  running_.StopServer();
  running_.StartServer();
  EXPECT_TRUE(WaitUntil(
      [&] {
        return client
            ->ReportNow(RolloutStatus{.environment_steps = 9},
                        absl::Milliseconds(200))
            .ok();
      },
      seconds(5)));
  EXPECT_EQ(Now().rollouts[0].environment_steps, 9);
  EXPECT_FALSE(stop.stop_requested());
}

TEST_F(MembershipTest, ASilentOrchestratorIsGone) {
  std::stop_source stop;
  auto client = Join(kRollout, stop);
  running_.StopServer();
  EXPECT_TRUE(WaitUntil([&] { return stop.stop_requested(); }, seconds(8)));
  EXPECT_EQ(client->end_reason(),
            MembershipClient::EndReason::kOrchestratorGone);
  const auto started = std::chrono::steady_clock::now();
  client.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, seconds(3));
}

}  // namespace
}  // namespace flywheel
