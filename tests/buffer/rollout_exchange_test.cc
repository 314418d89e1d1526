#include "services/buffer/rollout_exchange.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/buffer_harness.h"

namespace flywheel {
namespace {

// Rollouts with a buffer whose learner is at step 0 and has published it.
class RolloutExchangeTest : public testing::Test {
 protected:
  RolloutExchangeTest() { learner_.SayHello(0); }

  // A rollout that may get training credits.
  void Introduce(FakeRollout& rollout) {
    rollout.SayHello();
    rollout.Act(0);
  }
  Credit GrantTo(FakeRollout& rollout, uint64_t environment) {
    rollout.Request({environment});
    return rollout.Granted();
  }
  int64_t Drops(const std::string& reason) {
    const auto& drops = buffer_.server.Status().drops;
    const auto found = drops.find(reason);
    return found == drops.end() ? 0 : found->second;
  }

  BufferHarness buffer_;
  FakeLearner learner_{buffer_};
  FakeRollout rollout_{buffer_, 0};
};

TEST_F(RolloutExchangeTest, GivesACreditToEachEnvironmentThatAsks) {
  Introduce(rollout_);
  rollout_.Request({0, 2});
  const Credit first = rollout_.Granted();
  const Credit second = rollout_.Granted();
  EXPECT_EQ(first.environment, 0u);
  EXPECT_EQ(second.environment, 2u);
  EXPECT_EQ(first.version.value, 0);
  EXPECT_EQ(first.deadline, 1);
  EXPECT_NE(first.id, second.id);
  EXPECT_EQ(buffer_.server.Status().credits_out, 2);
}

TEST_F(RolloutExchangeTest, GivesNothingBeforeTheRolloutActsWithAVersion) {
  rollout_.SayHello();
  rollout_.Request({0});
  EXPECT_FALSE(rollout_.HasGrant());
  rollout_.Act(0);
  EXPECT_TRUE(rollout_.HasGrant());
}

TEST_F(RolloutExchangeTest, GivesNothingBeforeItKnowsWhereTrainingStands) {
  BufferHarness buffer;
  FakeRollout rollout(buffer, 0);
  rollout.SayHello();
  rollout.Act(30);
  rollout.Request({0});
  EXPECT_FALSE(rollout.HasGrant());
  FakeLearner(buffer).SayHello(30);
  EXPECT_EQ(rollout.Granted().deadline, 31);
}

TEST_F(RolloutExchangeTest, ARequestWaitsUntilThePacerAllowsIt) {
  Introduce(rollout_);
  rollout_.Request({0, 1, 2, 3});
  const Credit credit = rollout_.Granted();
  for (int i = 0; i < 3; ++i) rollout_.Granted();
  rollout_.Deliver(credit);
  rollout_.Request({0});  // Four credits are all that two steps can take.
  EXPECT_FALSE(rollout_.HasGrant());
  EXPECT_EQ(buffer_.server.Status().credits_out, 3);
  EXPECT_EQ(buffer_.server.Status().credits_ready, 1);
}

TEST_F(RolloutExchangeTest, AskingAgainForWhatIsOnItsWayChangesNothing) {
  Introduce(rollout_);
  GrantTo(rollout_, 0);
  rollout_.Request({0});
  EXPECT_FALSE(rollout_.HasGrant());
}

TEST_F(RolloutExchangeTest, AGrantThatGotLostIsSentAgain) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  buffer_.AdvanceTime(absl::Seconds(1));
  rollout_.Request({0});  // Perhaps it was the delivery that got lost.
  EXPECT_FALSE(rollout_.HasGrant());
  buffer_.AdvanceTime(absl::Seconds(1));
  EXPECT_EQ(GrantTo(rollout_, 0), credit);
  buffer_.AdvanceTime(absl::Milliseconds(1));
  rollout_.SayHello();  // A new connection: nothing is on its way any more.
  EXPECT_EQ(GrantTo(rollout_, 0), credit);
  EXPECT_EQ(buffer_.server.Status().credits_out, 1);
}

TEST_F(RolloutExchangeTest, AGrantThatCouldNotLeaveIsTakenBack) {
  Introduce(rollout_);
  buffer_.gone.insert(rollout_.peer());
  rollout_.Request({0});
  EXPECT_EQ(buffer_.server.Status().credits_out, 0);
  buffer_.gone.clear();
  buffer_.AdvanceTime(absl::Seconds(1));
  EXPECT_FALSE(rollout_.HasGrant());  // Nobody knows that it is back.
  rollout_.Request({0});
  EXPECT_TRUE(rollout_.HasGrant());
}

TEST_F(RolloutExchangeTest, EnvironmentsWithFewerCreditsGoFirst) {
  Introduce(rollout_);
  std::vector<Credit> held;
  for (const uint64_t environment : {0, 1, 2}) {
    held.push_back(GrantTo(rollout_, environment));
  }
  const Credit last = GrantTo(rollout_, 0 + 3);
  rollout_.Deliver(held[0]);
  rollout_.Deliver(held[1]);
  rollout_.Request({0});
  rollout_.Deliver(last, {});  // Returns: one may be given, to the one asking.
  EXPECT_EQ(rollout_.Granted().environment, 0u);
  rollout_.Request({3, 0, 1});
  rollout_.Deliver(held[2], {});
  EXPECT_EQ(rollout_.Granted().environment, 3u);
}

TEST_F(RolloutExchangeTest, StoresADeliveryAndAcknowledgesIt) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  const Acknowledgment acknowledgment = rollout_.Deliver(credit);
  EXPECT_EQ(acknowledgment.acknowledged_through, 1u);
  EXPECT_EQ(acknowledgment.refused_reason, "");
  EXPECT_EQ(buffer_.server.Status().credits_ready, 1);
  EXPECT_EQ(buffer_.server.Status().items, 1);
  EXPECT_GT(buffer_.server.Status().bytes, 0);
}

TEST_F(RolloutExchangeTest, ADeliverySentAgainIsAcknowledgedAndNotStoredTwice) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  rollout_.Deliver(credit);
  --rollout_.sequence;
  const Acknowledgment again = rollout_.Deliver(credit);
  EXPECT_EQ(again.acknowledged_through, 1u);
  EXPECT_EQ(again.refused_reason, "");
  EXPECT_EQ(buffer_.server.Status().items, 1);
  EXPECT_EQ(buffer_.server.Status().credits_ready, 1);
}

TEST_F(RolloutExchangeTest, AfterAGapItSaysWhereItStands) {
  Introduce(rollout_);
  const Credit first = GrantTo(rollout_, 0);
  const Credit second = GrantTo(rollout_, 1);
  rollout_.sequence = 1;  // The first was lost.
  EXPECT_EQ(rollout_.Deliver(second).acknowledged_through, 0u);
  EXPECT_EQ(buffer_.server.Status().items, 0);
  rollout_.sequence = 0;
  EXPECT_EQ(rollout_.Deliver(first).acknowledged_through, 1u);
  EXPECT_EQ(rollout_.Deliver(second).acknowledged_through, 2u);
  EXPECT_EQ(buffer_.server.Status().items, 2);
}

TEST_F(RolloutExchangeTest, AnEmptyDeliveryReturnsTheCredit) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  EXPECT_EQ(rollout_.Deliver(credit, {}).refused_reason, "");
  EXPECT_EQ(buffer_.server.Status().credits_out, 0);
  EXPECT_TRUE(buffer_.server.Status().drops.empty());
  EXPECT_NE(GrantTo(rollout_, 0).id, credit.id);
}

TEST_F(RolloutExchangeTest, RefusesACorruptRecordAndTheCreditReturns) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  const MessageFrame good = JobFrame(rollout_.Record(credit));
  std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
  bytes[200] ^= std::byte{4};
  const Acknowledgment acknowledgment =
      rollout_.Deliver(credit, {good, MessageFrame(std::move(bytes))});
  EXPECT_EQ(acknowledgment.acknowledged_through, 1u);  // Not to be sent again.
  EXPECT_EQ(acknowledgment.refused_reason, "corrupt");
  EXPECT_TRUE(acknowledgment.refused_message.starts_with("record: CRC32C"));
  EXPECT_EQ(Drops("corrupt"), 2);
  EXPECT_EQ(buffer_.server.Status().items, 0);
  EXPECT_EQ(buffer_.server.Status().credits_out, 0);
}

TEST_F(RolloutExchangeTest, RefusesARecordOfAnotherSchemaWithTheSentence) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  TrajectorySchema other = JobSchema();
  other.columns[1].shape = {1, 7};
  const Acknowledgment acknowledgment = rollout_.Deliver(
      credit, {JobFrame(rollout_.Record(credit), nullptr, other)});
  EXPECT_EQ(acknowledgment.refused_reason, "schema");
  EXPECT_TRUE(acknowledgment.refused_message.starts_with(
      "record: schema hash must be "));
  EXPECT_EQ(Drops("schema"), 1);
}

TEST_F(RolloutExchangeTest, RefusesARecordOfAnOlderVersionThanTheCredits) {
  Introduce(rollout_);
  Credit credit = GrantTo(rollout_, 0);
  JobRecord record = rollout_.Record(credit);
  record.version = -1;
  EXPECT_EQ(rollout_.Deliver(credit, {JobFrame(record)}).refused_reason,
            "stale");
  EXPECT_EQ(Drops("stale"), 1);
}

TEST_F(RolloutExchangeTest, RefusesACountThatIsNotThatOfTheFrames) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  rollout_.Say(Delivery{.sequence = 1, .credit = credit.id, .num_records = 2},
               {JobFrame(rollout_.Record(credit))});
  const auto acknowledgment =
      buffer_.Hear<Acknowledgment>(rollout_.peer()).message;
  EXPECT_EQ(acknowledgment.refused_reason, "corrupt");
  EXPECT_EQ(acknowledgment.refused_message,
            "delivery.num_records must be the number of frames that follow, 1, "
            "got 2");
}

TEST_F(RolloutExchangeTest, RefusesCreditsThatAreNotTheRolloutsOwn) {
  JobSpec job = SmallJob();
  job.resources.rollouts = 2;
  BufferHarness buffer(job);
  FakeLearner(buffer).SayHello(0);
  FakeRollout one(buffer, 0);
  FakeRollout two(buffer, 1);
  Introduce(one);
  Introduce(two);
  const Credit credit = GrantTo(one, 0);
  EXPECT_EQ(two.Deliver(credit).refused_reason, "unknown_credit");
  EXPECT_EQ(two.Deliver({.id = 999}).refused_message,
            "delivery.credit must be one that rollout 1 has out, got 999");
  EXPECT_EQ(one.Deliver(credit).refused_reason, "");
  EXPECT_EQ(one.Deliver(credit).refused_reason, "unknown_credit");  // Used up.
}

TEST_F(RolloutExchangeTest, RefusesWhatDoesNotFitIntoMemory) {
  JobSpec job = SmallJob();
  job.resources.buffer_bytes_max = 1500;  // One record.
  BufferHarness buffer(job);
  FakeLearner(buffer).SayHello(0);
  FakeRollout rollout(buffer, 0);
  Introduce(rollout);
  const Credit first = GrantTo(rollout, 0);
  const Credit second = GrantTo(rollout, 1);
  EXPECT_EQ(rollout.Deliver(first).refused_reason, "");
  const Acknowledgment full = rollout.Deliver(second);
  EXPECT_EQ(full.refused_reason, "full");
  EXPECT_TRUE(full.refused_message.starts_with(
      "resources.buffer_bytes_max is 1500 bytes"));
  EXPECT_EQ(buffer.server.Status().drops.at("full"), 1);
}

TEST_F(RolloutExchangeTest, ANewIncarnationReturnsTheCreditsOfTheOld) {
  Introduce(rollout_);
  rollout_.Request({0, 1, 2, 3});
  const Credit delivered = rollout_.Granted();
  rollout_.Deliver(delivered);
  EXPECT_EQ(buffer_.server.Status().credits_out, 3);

  FakeRollout next(buffer_, 0, /*incarnation=*/2);
  EXPECT_EQ(next.SayHello().acknowledged_through, 0u);
  EXPECT_EQ(buffer_.server.Status().credits_out, 0);
  EXPECT_EQ(buffer_.server.Status().credits_ready, 1);  // That one counts.
  next.Act(0);
  EXPECT_EQ(next.Deliver(GrantTo(next, 1)).acknowledged_through, 1u);
}

TEST_F(RolloutExchangeTest, ADeadIncarnationsRequestsDieWithIt) {
  rollout_.SayHello();
  rollout_.Request({0, 1});  // It acts with no version yet.
  FakeRollout next(buffer_, 0, /*incarnation=*/2);
  Introduce(next);
  EXPECT_FALSE(next.HasGrant());
}

TEST_F(RolloutExchangeTest, AnOlderIncarnationIsFenced) {
  FakeRollout next(buffer_, 0, /*incarnation=*/2);
  next.SayHello();
  rollout_.Say(rollout_.Hello());
  EXPECT_EQ(buffer_.HearRefusal(rollout_.peer(), "fenced"),
            "rollout 0: incarnation 2 has its place, got a message of 1");
  rollout_.Request({0});
  buffer_.HearRefusal(rollout_.peer(), "fenced");
  rollout_.Act(5);
  buffer_.HearRefusal(rollout_.peer(), "fenced");
  rollout_.Say(Delivery{.sequence = 1, .credit = 1});
  buffer_.HearRefusal(rollout_.peer(), "fenced");
}

TEST_F(RolloutExchangeTest, WhoeverDidNotSayHelloIsAskedTo) {
  rollout_.Request({0});
  EXPECT_EQ(buffer_.HearRefusal(rollout_.peer(), "unknown_worker"),
            "rollout 0 of incarnation 1: must say hello first");
  rollout_.SayHello();
  FakeRollout next(buffer_, 0, /*incarnation=*/2);
  next.Act(0);
  buffer_.HearRefusal(next.peer(), "unknown_worker");
}

TEST_F(RolloutExchangeTest, SayingHelloAgainChangesNothing) {
  Introduce(rollout_);
  const Credit credit = GrantTo(rollout_, 0);
  rollout_.Deliver(GrantTo(rollout_, 1));
  RolloutHello hello = rollout_.Hello();
  hello.held_credits = {credit.id, 999};
  rollout_.Say(hello);
  const auto welcome = buffer_.Hear<Welcome>(rollout_.peer()).message;
  EXPECT_EQ(welcome.acknowledged_through, 1u);
  EXPECT_EQ(welcome.held_credits, std::vector<uint64_t>{credit.id});
  EXPECT_EQ(rollout_.Deliver(credit).refused_reason, "");
}

TEST_F(RolloutExchangeTest, RefusesARolloutWithAnotherSchema) {
  JobSpec job = SmallJob();
  job.resources.rollouts = 2;
  BufferHarness buffer(job);
  FakeRollout(buffer, 0).SayHello();
  FakeRollout other(buffer, 1);
  RolloutHello hello = other.Hello();
  hello.schema.columns[0].name = "observation/joints";
  other.Say(hello);
  EXPECT_TRUE(buffer.HearRefusal(other.peer(), "schema")
                  .starts_with("rollout 1: schema hash must be "));
  other.Act(0);
  buffer.HearRefusal(other.peer(), "unknown_worker");
}

TEST_F(RolloutExchangeTest, RefusesEnvironmentsThatAreNotTheRolloutsOwn) {
  Introduce(rollout_);
  rollout_.Request({0, 4});
  EXPECT_EQ(buffer_.HearRefusal(rollout_.peer(), "malformed"),
            "credit_request.environments: rollout 0 has 4 environments from 0, "
            "got 4");
  EXPECT_FALSE(rollout_.HasGrant());  // Nothing was changed.

  FakeRollout beyond(buffer_, 1);
  beyond.Say(beyond.Hello());
  EXPECT_EQ(buffer_.HearRefusal(beyond.peer(), "malformed"),
            "rollout 1: environments must be below 4, got 4 from 4");
  RolloutHello overlapping = beyond.Hello();
  overlapping.first_environment = 3;
  overlapping.num_environments = 1;
  beyond.Say(overlapping);
  EXPECT_EQ(buffer_.HearRefusal(beyond.peer(), "malformed"),
            "rollout 1: environments must be its own, got 1 from 3, of which "
            "some belong to rollout 0");
}

// The learner waits; trajectories take 0.1 s, so that credits are overdue after
// 2 s and answers after 1 s.
TEST_F(RolloutExchangeTest, AnOverdueCreditIsCalledInAndThenRevoked) {
  Introduce(rollout_);
  const Credit slow = GrantTo(rollout_, 0);
  rollout_.Deliver(GrantTo(rollout_, 1));
  learner_.AskFor(0);
  buffer_.AdvanceTime(absl::Seconds(1.9));
  EXPECT_EQ(buffer_.NumHeard<CallIn>(rollout_.peer()), 0);
  buffer_.AdvanceTime(absl::Seconds(0.2));
  EXPECT_EQ(buffer_.Hear<CallIn>(rollout_.peer()).message.credits,
            std::vector<uint64_t>{slow.id});
  buffer_.AdvanceTime(absl::Seconds(0.9));
  EXPECT_EQ(buffer_.NumHeard<Revocation>(rollout_.peer()), 0);
  buffer_.AdvanceTime(absl::Seconds(0.2));
  const auto revocation = buffer_.Hear<Revocation>(rollout_.peer()).message;
  EXPECT_EQ(revocation.credits, std::vector<uint64_t>{slow.id});
  EXPECT_EQ(revocation.reason, "revoked");
  EXPECT_EQ(Drops("revoked"), 1);

  // The late arrival is refused; it was counted already.
  EXPECT_EQ(rollout_.Deliver(slow).refused_message,
            "delivery.credit must be one that rollout 0 has out, got 1, which "
            "was revoked");
  EXPECT_EQ(Drops("unknown_credit"), 0);
  rollout_.Deliver(GrantTo(rollout_, 0));
  EXPECT_TRUE(learner_.HasList());
}

TEST_F(RolloutExchangeTest, WhatIsCalledInDeliversWhatItHas) {
  Introduce(rollout_);
  const Credit slow = GrantTo(rollout_, 0);
  rollout_.Deliver(GrantTo(rollout_, 1));
  learner_.AskFor(0);
  buffer_.AdvanceTime(absl::Seconds(3));
  buffer_.Hear<CallIn>(rollout_.peer());
  JobRecord part = rollout_.Record(slow);
  part.chunks = 1;
  EXPECT_EQ(rollout_.Deliver(slow, {JobFrame(part)}).refused_reason, "");
  EXPECT_EQ(learner_.Taken().records.size(), 2u);
  EXPECT_TRUE(buffer_.server.Status().drops.empty());
}

class DemonstrationsTest : public RolloutExchangeTest {
 protected:
  DemonstrationsTest() : RolloutExchangeTest() { learner.SayHello(0); }

  static JobSpec Job() {
    JobSpec job = SmallJob();
    job.pretraining = {.scripted = true, .episodes = 2};
    return job;
  }
  MessageFrame Demonstration(const Credit& credit) {
    JobRecord record = rollout.Record(credit);
    record.chunks = 9;
    record.terminated = true;
    return JobFrame(record);
  }

  BufferHarness buffer{Job()};
  FakeLearner learner{buffer};
  FakeRollout rollout{buffer, 0};
};

TEST_F(DemonstrationsTest, ComeFirstUntilThereAreEnough) {
  rollout.SayHello();
  rollout.Request({0, 1, 2});
  const Credit first = rollout.Granted();
  const Credit second = rollout.Granted();
  EXPECT_EQ(first.kind, CreditKind::kDemonstration);
  EXPECT_EQ(second.kind, CreditKind::kDemonstration);
  EXPECT_FALSE(rollout.HasGrant());
  EXPECT_EQ(rollout.Deliver(first, {Demonstration(first)}).refused_reason, "");
  EXPECT_EQ(rollout.Deliver(second, {}).refused_reason, "");  // It failed.
  EXPECT_EQ(rollout.Granted().environment, 2u);
  EXPECT_EQ(buffer.server.Status().demonstrations, 1);
}

TEST_F(DemonstrationsTest, AreFollowedByTrainingOnceAVersionIsActedWith) {
  rollout.SayHello();
  rollout.Request({0, 1, 2});
  for (int i = 0; i < 2; ++i) {
    const Credit credit = rollout.Granted();
    rollout.Deliver(credit, {Demonstration(credit)});
  }
  EXPECT_FALSE(rollout.HasGrant());
  rollout.Act(0);
  EXPECT_EQ(rollout.Granted().kind, CreditKind::kTraining);
}

TEST_F(DemonstrationsTest, AreNotCollectedAgainByABufferThatComesLater) {
  rollout.SayHello();
  rollout.Act(0);
  rollout.Request({0});
  EXPECT_EQ(rollout.Granted().kind, CreditKind::kTraining);

  BufferHarness resumed(Job());
  FakeLearner(resumed).SayHello(12);
  FakeRollout late(resumed, 0);
  late.SayHello();
  late.Request({0});
  EXPECT_FALSE(late.HasGrant());
  late.Act(12);
  EXPECT_EQ(late.Granted().kind, CreditKind::kTraining);
}

TEST_F(DemonstrationsTest, OfADeadRolloutAreCollectedByItsSuccessor) {
  rollout.SayHello();
  rollout.Request({0, 1});
  FakeRollout next(buffer, 0, /*incarnation=*/2);
  next.SayHello();
  next.Request({0, 1});
  EXPECT_TRUE(next.HasGrant());
}

TEST_F(DemonstrationsTest, FarOverdueAreRevokedWhileTheLearnerWaits) {
  rollout.SayHello();
  rollout.Request({0, 1, 2});
  const Credit first = rollout.Granted();
  const Credit stuck = rollout.Granted();
  buffer.AdvanceTime(absl::Seconds(1));
  rollout.Deliver(first, {Demonstration(first)});
  buffer.AdvanceTime(absl::Seconds(100));
  EXPECT_EQ(buffer.NumHeard<Revocation>(rollout.peer()), 0);
  learner.Say(SampleRequest{.table = "demonstrations", .n = 1, .min_items = 2});
  EXPECT_EQ(buffer.Hear<Revocation>(rollout.peer()).message.credits,
            std::vector<uint64_t>{stuck.id});
  EXPECT_EQ(rollout.Granted().environment, 2u);
}

}  // namespace
}  // namespace flywheel
