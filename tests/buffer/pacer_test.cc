#include "services/buffer/pacer.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/backlog_limit.h"
#include "services/buffer/overdue_limits.h"

namespace flywheel {
namespace {

absl::Time At(double seconds) {
  return absl::UnixEpoch() + absl::Seconds(seconds);
}

// Gives `count` credits of `version`, all to different environments of one
// worker; expects that the pacer allows it. Returns their ids.
std::vector<uint64_t> Give(Pacer& pacer, int count, int64_t version,
                           double seconds = 0, uint64_t worker = 0) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < count; ++i) {
    const auto credit = pacer.TryGive(i, worker, {version}, At(seconds));
    EXPECT_TRUE(credit.has_value()) << "credit " << i << " of " << count;
    if (credit.has_value()) ids.push_back(credit->id);
  }
  return ids;
}

void MakeReady(Pacer& pacer, const std::vector<uint64_t>& ids) {
  for (const uint64_t id : ids) EXPECT_TRUE(pacer.MakeReady(id));
}

// Gives and delivers a batch, and starts the step with it.
void RunStep(Pacer& pacer, int batch, double seconds = 0) {
  const int64_t step = pacer.next_step();
  pacer.ObservePublished({step});
  MakeReady(pacer, Give(pacer, batch, step, seconds));
  EXPECT_EQ(pacer.TryStart(At(seconds)).kind, Pacer::Start::Kind::kList);
}

std::vector<uint64_t> Ids(const std::vector<Credit>& credits) {
  std::vector<uint64_t> ids;
  for (const Credit& credit : credits) ids.push_back(credit.id);
  return ids;
}

TEST(PacerGiveTest, ACreditIsForTheActingVersionAndDueAfterTheLagLimit) {
  Pacer pacer({.max_policy_lag = 3, .batch_credits = 2});
  const auto credit = pacer.TryGive(7, 0, {0}, At(0));
  ASSERT_TRUE(credit.has_value());
  EXPECT_EQ(credit->environment, 7u);
  EXPECT_EQ(credit->version.value, 0);
  EXPECT_EQ(credit->deadline, 3);
  EXPECT_EQ(credit->kind, CreditKind::kTraining);
}

TEST(PacerGiveTest, NoMoreCreditsForADeadlineThanTheStepsUpToItCanTake) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2, .environments = 9});
  Give(pacer, 4, 0);  // Deadline 1: the steps 0 and 1 take two each.
  EXPECT_EQ(pacer.CanGive(8, {0}), GiveDecision::kWait);
}

TEST(PacerGiveTest, AskForANewerVersionWhereOnlyThatIsInTime) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  RunStep(pacer, 2);
  RunStep(pacer, 2);
  pacer.ObservePublished({2});
  EXPECT_EQ(pacer.CanGive(0, {0}), GiveDecision::kSwapFirst);  // Due at 1 < 2.
  EXPECT_EQ(pacer.CanGive(0, {1}), GiveDecision::kGive);
  EXPECT_EQ(pacer.CanGive(0, {2}), GiveDecision::kGive);
}

TEST(PacerGiveTest, AFullDeadlineLeavesRoomForALaterOne) {
  Pacer pacer({.max_policy_lag = 2, .batch_credits = 1});
  (void)pacer.TryStart(At(0));  // The learner waits.
  RunStep(pacer, 1);
  pacer.ObservePublished({1});
  Give(pacer, 2, 0);  // Deadline 2: steps 1 and 2.
  EXPECT_EQ(pacer.CanGive(0, {0}), GiveDecision::kWait);  // The backlog.
  EXPECT_FALSE(pacer.TryGive(0, 0, {1}, At(0)).has_value());
  pacer.ObserveTrainStep(1, 1.0);  // So the backlog may grow.
  EXPECT_EQ(pacer.CanGive(0, {0}), GiveDecision::kSwapFirst);
  EXPECT_EQ(pacer.CanGive(0, {1}), GiveDecision::kGive);
}

TEST(PacerGiveTest, AVersionFromBeforeARollbackCountsAsThePresentOne) {
  Pacer pacer({.max_policy_lag = 2, .batch_credits = 1});
  pacer.JumpTo(5);
  const auto credit = pacer.TryGive(0, 0, {9}, At(0));
  ASSERT_TRUE(credit.has_value());
  EXPECT_EQ(credit->version.value, 5);
  EXPECT_EQ(credit->deadline, 7);
}

TEST(PacerGiveTest, WithoutLagEnvironmentsShareEachBatchEqually) {
  Pacer pacer({.max_policy_lag = 0, .batch_credits = 4, .environments = 2});
  const auto first = pacer.TryGive(0, 0, {0}, At(0));
  EXPECT_TRUE(pacer.TryGive(0, 0, {0}, At(0)).has_value());
  EXPECT_EQ(pacer.CanGive(0, {0}), GiveDecision::kWait);
  EXPECT_EQ(pacer.CanGive(1, {0}), GiveDecision::kGive);
  // A credit that returned is given again.
  EXPECT_TRUE(pacer.Return(first->id));
  EXPECT_EQ(pacer.CanGive(0, {0}), GiveDecision::kGive);
}

TEST(PacerGiveTest, WithoutLagAnIndivisibleBatchIsSharedAsItComes) {
  Pacer pacer({.max_policy_lag = 0, .batch_credits = 3, .environments = 2});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pacer.TryGive(0, 0, {0}, At(0)).has_value());
  }
  EXPECT_EQ(pacer.CanGive(1, {0}), GiveDecision::kWait);
}

TEST(PacerTakeTest, ABatchIsTheReadyOnesWithTheEarliestDeadlines) {
  Pacer pacer({.max_policy_lag = 2, .batch_credits = 2});
  RunStep(pacer, 2);
  pacer.ObservePublished({1});
  const auto late = Give(pacer, 1, 1);   // Due at 3.
  const auto early = Give(pacer, 2, 0);  // Due at 2.
  MakeReady(pacer, late);
  MakeReady(pacer, early);
  const Pacer::Start start = pacer.TryStart(At(0));
  ASSERT_EQ(start.kind, Pacer::Start::Kind::kList);
  EXPECT_EQ(Ids(start.list), early);
  EXPECT_EQ(pacer.next_step(), 2);
  EXPECT_EQ(pacer.num_ready(), 1u);
}

TEST(PacerTakeTest, AStepWaitsForAWholeBatch) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  MakeReady(pacer, Give(pacer, 1, 0));
  const Pacer::Start start = pacer.TryStart(At(0));
  EXPECT_EQ(start.kind, Pacer::Start::Kind::kWait);
  EXPECT_TRUE(start.call_in.empty());
  EXPECT_TRUE(pacer.learner_waits());
  EXPECT_EQ(pacer.next_step(), 0);
}

TEST(PacerTakeTest, ACreditIsReadyOnceAndOnlyIfItIsOut) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  const auto ids = Give(pacer, 2, 0);
  EXPECT_TRUE(pacer.MakeReady(ids[0]));
  EXPECT_FALSE(pacer.MakeReady(ids[0]));
  EXPECT_TRUE(pacer.Return(ids[1]));
  EXPECT_FALSE(pacer.Return(ids[1]));
  EXPECT_FALSE(pacer.MakeReady(ids[1]));
  EXPECT_FALSE(pacer.MakeReady(99));
  EXPECT_EQ(pacer.num_out(), 0u);
  EXPECT_EQ(pacer.num_ready(), 1u);
}

// B = 2, L = 1. Step 0 has two ready and leaves two that are due at step 1.
TEST(PacerCallInTest, CallsInWhatTheNextStepCouldNotTakeInTime) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  const auto first = Give(pacer, 4, 0);
  MakeReady(pacer, {first[0], first[1]});
  ASSERT_EQ(pacer.TryStart(At(0)).kind, Pacer::Start::Kind::kList);
  pacer.ObservePublished({1});
  MakeReady(pacer, Give(pacer, 2, 1));  // Due at 2; those out at 1.
  const Pacer::Start start = pacer.TryStart(At(1));
  EXPECT_EQ(start.kind, Pacer::Start::Kind::kWait);
  EXPECT_EQ(start.call_in, (std::vector<uint64_t>{first[2], first[3]}));
  EXPECT_TRUE(pacer.TryStart(At(2)).call_in.empty());  // Called in already.

  EXPECT_TRUE(pacer.Return(first[2]));     // An empty answer.
  EXPECT_TRUE(pacer.MakeReady(first[3]));  // What it had.
  const Pacer::Start next = pacer.TryStart(At(3));
  ASSERT_EQ(next.kind, Pacer::Start::Kind::kList);
  EXPECT_EQ(next.list[0].id, first[3]);
}

TEST(PacerCallInTest, CallsInAsManyAsAreMissingAndNoMore) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2, .environments = 8});
  const auto first = Give(pacer, 4, 0);  // Due at 1.
  MakeReady(pacer, {first[0], first[1]});
  ASSERT_EQ(pacer.TryStart(At(0)).kind, Pacer::Start::Kind::kList);
  pacer.ObservePublished({1});
  MakeReady(pacer, {first[2]});
  MakeReady(pacer, Give(pacer, 1, 1));  // Due at 2.
  const auto spare = Give(pacer, 1, 1);
  EXPECT_EQ(pacer.TryStart(At(1)).call_in, std::vector<uint64_t>{first[3]});
  EXPECT_FALSE(pacer.FindOut(spare[0])->called_in.has_value());
}

TEST(PacerCallInTest, CallsInAheadWhatIsDueOneStepLater) {
  Pacer pacer({.max_policy_lag = 2, .batch_credits = 1, .environments = 8});
  const auto slow = Give(pacer, 1, 0);  // Due at 2.
  RunStep(pacer, 1);
  pacer.ObservePublished({1});
  MakeReady(pacer, Give(pacer, 1, 1));
  const Pacer::Start start = pacer.TryStart(At(1));
  ASSERT_EQ(start.kind, Pacer::Start::Kind::kList);
  EXPECT_EQ(pacer.next_step(), 2);
  EXPECT_EQ(start.call_in, slow);
}

TEST(PacerCallInTest, WhatWasGivenLessThanAStepAgoIsNotCalledInAhead) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 1, .environments = 8});
  const auto ids = Give(pacer, 2, 0);  // Due at 1.
  MakeReady(pacer, {ids[0]});
  const Pacer::Start start = pacer.TryStart(At(0));
  ASSERT_EQ(start.kind, Pacer::Start::Kind::kList);
  EXPECT_TRUE(start.call_in.empty());
}

TEST(PacerRevokeTest, WhileTheLearnerWaitsOldCreditsAreCalledInThenRevoked) {
  Pacer pacer({.max_policy_lag = 1,
               .batch_credits = 2,
               .overdue_limits = {.credit_deadline = absl::Seconds(2),
                                  .answer_deadline = absl::Seconds(1)}});
  const auto old = Give(pacer, 1, 0, 0);
  const auto young = Give(pacer, 1, 0, 1);
  EXPECT_TRUE(pacer.FindOverdue(At(2)).call_in.empty());  // Nobody waits.
  (void)pacer.TryStart(At(2));
  EXPECT_TRUE(pacer.FindOverdue(At(1.9)).call_in.empty());
  EXPECT_EQ(pacer.FindOverdue(At(2)).call_in, old);
  EXPECT_TRUE(pacer.FindOverdue(At(2.9)).revoked.empty());
  const Pacer::OverdueCredits overdue = pacer.FindOverdue(At(3));
  EXPECT_EQ(overdue.revoked, old);
  EXPECT_EQ(overdue.call_in, young);
  EXPECT_FALSE(pacer.MakeReady(old[0]));  // A late arrival.
  EXPECT_EQ(pacer.num_out(), 1u);
}

TEST(PacerRevokeTest, NothingIsOverdueBeforeAnyTrajectoryTimeIsKnown) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  Give(pacer, 1, 0);
  (void)pacer.TryStart(At(0));
  EXPECT_TRUE(pacer.FindOverdue(At(1e6)).call_in.empty());
  pacer.ObserveTrajectory(absl::Milliseconds(10), 10);
  EXPECT_EQ(pacer.FindOverdue(At(2)).call_in.size(), 1u);
}

TEST(PacerRevokeTest, WhereBitsMustMatchNothingIsOverdue) {
  Pacer pacer({.max_policy_lag = 0,
               .batch_credits = 2,
               .overdue = Overdue::kWait,
               .overdue_limits = {.credit_deadline = absl::Seconds(2)}});
  Give(pacer, 1, 0);
  (void)pacer.TryStart(At(0));
  EXPECT_TRUE(pacer.FindOverdue(At(1e6)).call_in.empty());
}

TEST(PacerRevokeTest, ADeadWorkersCreditsReturnAtOnceAndNobodyElses) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 4});
  const auto dead = Give(pacer, 2, 0, 0, /*worker=*/1);
  const auto other = Give(pacer, 1, 0, 0, /*worker=*/2);
  pacer.MakeReady(dead[0]);
  EXPECT_EQ(pacer.ReturnAllOf(1), std::vector<uint64_t>{dead[1]});
  EXPECT_EQ(pacer.num_ready(), 1u);  // What it delivered stays.
  EXPECT_NE(pacer.FindOut(other[0]), nullptr);
}

TEST(PacerBacklogTest, BeginsWithOneBatchInTrainingAndOneBeingCollected) {
  Pacer pacer({.max_policy_lag = 8, .batch_credits = 4, .environments = 64});
  MakeReady(pacer, Give(pacer, 4, 0));
  ASSERT_EQ(pacer.TryStart(At(0)).kind, Pacer::Start::Kind::kList);
  Give(pacer, 4, 0);
  EXPECT_EQ(pacer.CanGive(9, {0}), GiveDecision::kWait);
  pacer.ObservePublished({1});  // Training has ended.
  EXPECT_EQ(pacer.CanGive(9, {0}), GiveDecision::kGive);
}

TEST(PacerBacklogTest, AListThatWasThereAtOnceAsksForNoMoreCredits) {
  Pacer pacer({.max_policy_lag = 8, .batch_credits = 4, .environments = 64});
  const int64_t limit = pacer.backlog_limit();
  RunStep(pacer, 4);  // What the learner waited for was not a credit.
  pacer.ObservePublished({1});
  Give(pacer, 8, 1);
  EXPECT_FALSE(pacer.TryGive(9, 0, {1}, At(0)).has_value());
  pacer.ObserveTrainStep(1, 0.9);
  EXPECT_EQ(pacer.backlog_limit(), limit);
}

TEST(PacerBacklogTest, EachTrainStepCountsOnce) {
  Pacer pacer({.max_policy_lag = 8, .batch_credits = 4, .environments = 64});
  (void)pacer.TryStart(At(0));
  RunStep(pacer, 4);
  for (int i = 0; i < 3; ++i) {
    pacer.ObservePublished({1});
    while (pacer.TryGive(9, 0, {1}, At(0)).has_value()) {
    }
    pacer.ObserveTrainStep(1, 0.9);  // A question that was repeated.
  }
  EXPECT_EQ(pacer.backlog_limit(), 9);  // One change of a quarter batch.
}

TEST(PacerJumpTest, StartsOverWithoutAnyCredit) {
  Pacer pacer({.max_policy_lag = 1, .batch_credits = 2});
  const auto ids = Give(pacer, 3, 0);
  pacer.MakeReady(ids[0]);
  const Pacer::Voided voided = pacer.JumpTo(30);
  EXPECT_EQ(voided.out.size(), 2u);
  EXPECT_EQ(Ids(voided.ready), std::vector<uint64_t>{ids[0]});
  EXPECT_EQ(pacer.next_step(), 30);
  RunStep(pacer, 2);
  EXPECT_EQ(pacer.next_step(), 31);
}

// A learner that waits where fewer than `enough` credits may be out.
double WaitedShare(const BacklogLimit& backlog, int64_t enough) {
  return backlog.limit() < enough ? 0.3 : 0.0;
}

TEST(BacklogLimitTest, FindsTheSmallestThatKeepsTheLearnerBusy) {
  BacklogLimit backlog(16, 8);
  for (int i = 0; i < 2000; ++i) {
    backlog.NoteRefused();
    backlog.ObserveTrainStep(WaitedShare(backlog, 60));
  }
  EXPECT_GE(backlog.limit(), 60 - 4);  // It probes one change below.
  EXPECT_LE(backlog.limit(), 60 + 4);
}

TEST(BacklogLimitTest, SeldomMakesTheLearnerWaitOnceItHasFoundIt) {
  BacklogLimit backlog(16, 8);
  double waited = 0;
  for (int i = 0; i < 12000; ++i) {
    backlog.NoteRefused();
    const double share = WaitedShare(backlog, 60);
    backlog.ObserveTrainStep(share);
    if (i >= 2000) waited += share;
  }
  EXPECT_LT(waited / 10000, BacklogLimit::kWaitedShareMax);
}

TEST(BacklogLimitTest, StaysBetweenOneBatchAndTheLagLimit) {
  BacklogLimit backlog(16, 2);
  for (int i = 0; i < 1000; ++i) {
    backlog.NoteRefused();
    backlog.ObserveTrainStep(1.0);
    ASSERT_LE(backlog.limit(), 48);
  }
  EXPECT_EQ(backlog.limit(), 48);
  for (int i = 0; i < 5000; ++i) {
    backlog.ObserveTrainStep(0.0);
    ASSERT_GE(backlog.limit(), 16);
  }
  EXPECT_EQ(backlog.limit(), 16);
}

TEST(BacklogLimitTest, DoesNotRiseWhereItIsNotWhatTheLearnerWaitsFor) {
  BacklogLimit backlog(16, 8);
  for (int i = 0; i < 100; ++i) backlog.ObserveTrainStep(0.9);
  EXPECT_EQ(backlog.limit(), 32);
}

TEST(OverdueLimitsTest, AreTwentyMediansButNotLessThanTheirFloor) {
  OverdueLimits limits({});
  limits.ObserveTrajectory(absl::Milliseconds(1), 10);
  EXPECT_EQ(limits.CreditDeadline(), absl::Seconds(2));
  EXPECT_EQ(limits.AnswerDeadline(), absl::Seconds(1));
  for (int i = 0; i < 3; ++i) limits.ObserveTrajectory(absl::Seconds(30), 10);
  EXPECT_EQ(limits.CreditDeadline(), absl::Seconds(600));
  EXPECT_EQ(limits.AnswerDeadline(), absl::Seconds(60));
}

TEST(OverdueLimitsTest, ForgetOldTimes) {
  OverdueLimits limits({});
  for (int i = 0; i < 200; ++i) {
    limits.ObserveTrajectory(absl::Seconds(30), 10);
  }
  for (int i = 0; i < 60; ++i) limits.ObserveTrajectory(absl::Seconds(1), 10);
  EXPECT_EQ(limits.CreditDeadline(), absl::Seconds(20));
}

}  // namespace
}  // namespace flywheel
