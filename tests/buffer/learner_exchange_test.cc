#include "services/buffer/learner_exchange.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/buffer_harness.h"

namespace flywheel {
namespace {

class LearnerExchangeTest : public testing::Test {
 protected:
  // The rollout acts with `version` and delivers `count` credits.
  std::vector<MessageFrame> Collect(int count, int64_t version) {
    rollout_.Act(version);
    std::vector<MessageFrame> frames;
    for (int i = 0; i < count; ++i) {
      rollout_.Request({static_cast<uint64_t>(i)});
      const Credit credit = rollout_.Granted();
      frames.push_back(JobFrame(rollout_.Record(credit)));
      EXPECT_EQ(rollout_.Deliver(credit, {frames.back()}).refused_reason, "");
    }
    return frames;
  }
  // A whole train step, from version `step` to its list.
  std::vector<MessageFrame> RunStep(FakeLearner& learner, int64_t step) {
    Collect(2, step);
    learner.AskFor(step);
    auto taken = learner.Taken();
    EXPECT_EQ(taken.message.step, step);
    EXPECT_EQ(taken.message.num_records, taken.records.size());
    return taken.records;
  }
  static std::vector<std::string> Texts(
      const std::vector<MessageFrame>& frames) {
    std::vector<std::string> texts;
    for (const MessageFrame& frame : frames) texts.emplace_back(frame.text());
    return texts;
  }

  BufferHarness buffer_;
  FakeRollout rollout_{buffer_, 0};
  FakeLearner learner_{buffer_};
};

TEST_F(LearnerExchangeTest, AWelcomeHasTheSchemaOnceARolloutSaidHello) {
  EXPECT_FALSE(learner_.SayHello(0).schema.has_value());
  rollout_.SayHello();
  const LearnerWelcome welcome = learner_.SayHello(0);
  EXPECT_EQ(welcome.schema, JobSchema());
  EXPECT_EQ(welcome.next_train_step, 0);
}

TEST_F(LearnerExchangeTest, AListIsExactlyOneBatchSortedByEnvironment) {
  rollout_.SayHello();
  learner_.SayHello(0);
  rollout_.Act(0);
  rollout_.Request({3, 1, 2});
  for (int i = 0; i < 3; ++i) rollout_.Deliver(rollout_.Granted());
  learner_.AskFor(0);
  const auto taken = learner_.Taken();
  ASSERT_EQ(taken.records.size(), 2u);  // In order of arrival 3 and 1.
  EXPECT_EQ(RecordView::ParseHeader(taken.records[0].bytes())->environment, 1u);
  EXPECT_EQ(RecordView::ParseHeader(taken.records[1].bytes())->environment, 3u);
  EXPECT_EQ(buffer_.server.Status().train_step, 1);
  EXPECT_EQ(buffer_.server.learners().lag_counts(),
            (std::map<int64_t, int64_t>{{0, 2}}));
}

TEST_F(LearnerExchangeTest, AQuestionWaitsUntilTheListCanBeMade) {
  rollout_.SayHello();
  learner_.SayHello(0);
  learner_.AskFor(0);
  EXPECT_FALSE(learner_.HasList());
  Collect(1, 0);
  EXPECT_FALSE(learner_.HasList());
  Collect(1, 0);
  EXPECT_EQ(learner_.Taken().records.size(), 2u);
  buffer_.AdvanceTime(absl::Seconds(1));
  EXPECT_FALSE(learner_.HasList());  // Answered once.
}

TEST_F(LearnerExchangeTest, RecordsArriveAsTheyWereSent) {
  rollout_.SayHello();
  learner_.SayHello(0);
  const auto sent = Collect(2, 0);
  learner_.AskFor(0);
  EXPECT_EQ(Texts(learner_.Taken().records), Texts(sent));
}

TEST_F(LearnerExchangeTest, AskedAgainItGivesTheSameList) {
  rollout_.SayHello();
  learner_.SayHello(0);
  const auto first = RunStep(learner_, 0);
  const auto second = RunStep(learner_, 1);
  for (int i = 0; i < 2; ++i) {
    learner_.AskFor(0);
    EXPECT_EQ(Texts(learner_.Taken().records), Texts(first));
  }
  // A new life of the learner repeats its steps on the recorded lists.
  FakeLearner next(buffer_, /*incarnation=*/2);
  EXPECT_EQ(next.SayHello(0).next_train_step, 2);
  next.AskFor(0);
  EXPECT_EQ(Texts(next.Taken().records), Texts(first));
  next.AskFor(1);
  EXPECT_EQ(Texts(next.Taken().records), Texts(second));
  EXPECT_TRUE(buffer_.server.Status().drops.empty());
}

TEST_F(LearnerExchangeTest, AnAnswerThatCouldNotLeaveIsKept) {
  rollout_.SayHello();
  learner_.SayHello(0);
  Collect(2, 0);
  buffer_.gone.insert(learner_.peer());
  learner_.AskFor(0);
  buffer_.gone.clear();
  learner_.AskFor(0);
  EXPECT_EQ(learner_.Taken().records.size(), 2u);
}

TEST_F(LearnerExchangeTest, EveryListIsExactlyOneBatchHoweverMuchIsReady) {
  rollout_.SayHello();
  learner_.SayHello(0);
  std::set<uint64_t> credits;
  for (int64_t step = 0; step < 20; ++step) {
    for (const MessageFrame& record : RunStep(learner_, step)) {
      credits.insert(RecordView::ParseHeader(record.bytes())->credit);
    }
  }
  EXPECT_EQ(credits.size(), 40u);  // Each counted once.
}

TEST_F(LearnerExchangeTest, ReleaseFreesTheBytesOfListsBeforeThatStep) {
  rollout_.SayHello();
  learner_.SayHello(0);
  RunStep(learner_, 0);
  const int64_t one_list = buffer_.server.Status().bytes;
  RunStep(learner_, 1);
  EXPECT_EQ(buffer_.server.Status().bytes, 2 * one_list);
  learner_.Say(Release{.before_step = 1});
  EXPECT_EQ(buffer_.server.Status().bytes, one_list);
  EXPECT_EQ(buffer_.server.Status().items, 2);
  learner_.AskFor(0);
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "released"),
            "train step 0: its list is not kept; the next step to be listed is "
            "2");
  learner_.AskFor(1);
  EXPECT_TRUE(learner_.HasList());
}

TEST_F(LearnerExchangeTest, NothingCanBeReleasedThatWasNotListed) {
  rollout_.SayHello();
  learner_.SayHello(0);
  RunStep(learner_, 0);
  learner_.Say(Release{.before_step = 2});
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "ahead"),
            "release.before_step must be at most 1, the next step to be "
            "listed, got 2");
}

TEST_F(LearnerExchangeTest, ANewBufferBeginsWhereTheLearnerStands) {
  rollout_.SayHello();
  EXPECT_EQ(learner_.SayHello(30).next_train_step, 30);
  RunStep(learner_, 30);
  RunStep(learner_, 31);
}

TEST_F(LearnerExchangeTest, ANewBufferIsAskedWithoutAHello) {
  rollout_.SayHello();
  learner_.AskFor(30);
  Collect(2, 30);
  EXPECT_EQ(learner_.Taken().message.step, 30);
}

TEST_F(LearnerExchangeTest, ALearnerCannotBeAheadOfTheLists) {
  rollout_.SayHello();
  learner_.SayHello(0);
  RunStep(learner_, 0);
  learner_.AskFor(5);
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "ahead"),
            "train step 5; the next step to be listed is 1");
  FakeLearner next(buffer_, /*incarnation=*/2);
  next.Say(LearnerHello{.next_train_step = 5});
  buffer_.HearRefusal(next.peer(), "ahead");
  next.SayHello(1);
  RunStep(next, 1);
}

// The buffer began at 30, after a former one was lost; the learner then fell
// back to a checkpoint at 25.
TEST_F(LearnerExchangeTest, ALearnerThatFellBackBehindTheListsStartsOver) {
  rollout_.SayHello();
  learner_.SayHello(30);
  RunStep(learner_, 30);
  const auto ready = Collect(1, 31);
  rollout_.Request({1});
  const Credit out = rollout_.Granted();

  FakeLearner next(buffer_, /*incarnation=*/2);
  EXPECT_EQ(next.SayHello(25).next_train_step, 25);
  EXPECT_EQ(buffer_.Hear<Revocation>(rollout_.peer()).message.credits,
            std::vector<uint64_t>{out.id});
  EXPECT_EQ(rollout_.Deliver(out).refused_reason, "unknown_credit");
  EXPECT_EQ(buffer_.server.Status().items, 0);
  EXPECT_EQ(buffer_.server.Status().drops.at("rewound"), 2);

  // The rollout still acts with version 31, and training goes on.
  rollout_.Request({0, 1});
  for (int i = 0; i < 2; ++i) {
    const Credit credit = rollout_.Granted();
    EXPECT_EQ(credit.version.value, 25);
    JobRecord record = rollout_.Record(credit);
    record.version = 31;
    EXPECT_EQ(rollout_.Deliver(credit, {JobFrame(record)}).refused_reason, "");
  }
  next.AskFor(25);
  EXPECT_EQ(next.Taken().records.size(), 2u);
}

TEST_F(LearnerExchangeTest, AnOlderIncarnationIsFenced) {
  FakeLearner next(buffer_, /*incarnation=*/2);
  next.SayHello(0);
  learner_.Say(LearnerHello{.next_train_step = 0});
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "fenced"),
            "learner 0: incarnation 2 has its place, got a message of 1");
  learner_.AskFor(0);
  buffer_.HearRefusal(learner_.peer(), "fenced");
  learner_.Say(Release{.before_step = 0});
  buffer_.HearRefusal(learner_.peer(), "fenced");
  learner_.Say(SampleRequest{.table = "demonstrations", .n = 1});
  buffer_.HearRefusal(learner_.peer(), "fenced");
}

TEST_F(LearnerExchangeTest, ARankTheJobDoesNotHaveIsRefused) {
  buffer_.Say("learner-1", 1, 1, LearnerHello{});
  EXPECT_EQ(buffer_.HearRefusal("learner-1", "malformed"),
            "learner: rank must be below 1, got 1");
}

class SampleTest : public testing::Test {
 protected:
  SampleTest() {
    rollout_.SayHello();
    learner_.SayHello(0);
  }
  static JobSpec Job() {
    JobSpec job = SmallJob();
    job.pretraining = {.scripted = true, .episodes = 3};
    return job;
  }
  void Demonstrate(uint64_t environment) {
    rollout_.Request({environment});
    const Credit credit = rollout_.Granted();
    JobRecord record = rollout_.Record(credit);
    record.terminated = true;
    EXPECT_EQ(rollout_.Deliver(credit, {JobFrame(record)}).refused_reason, "");
  }
  void Ask(SampleRequest request) { learner_.Say(std::move(request)); }

  BufferHarness buffer_{Job()};
  FakeRollout rollout_{buffer_, 0};
  FakeLearner learner_{buffer_};
};

TEST_F(SampleTest, WaitsForEnoughItemsThenDrawsWithReplacement) {
  Demonstrate(0);
  Ask({.table = "demonstrations", .n = 8, .request = 5, .min_items = 2});
  EXPECT_FALSE(buffer_.TryHear<SampleReply>(learner_.peer()).has_value());
  Demonstrate(1);
  const auto reply = buffer_.Hear<SampleReply>(learner_.peer());
  EXPECT_EQ(reply.message.request, 5u);
  EXPECT_EQ(reply.message.num_records, 8u);
  EXPECT_EQ(reply.message.table_items, 2u);
  EXPECT_EQ(reply.records.size(), 8u);
  EXPECT_EQ(buffer_.server.Status().demonstrations, 2);  // They stay.
}

TEST_F(SampleTest, AnEmptyTableIsWaitedForWhateverWasAsked) {
  Ask({.table = "demonstrations", .n = 1, .request = 1, .min_items = 0});
  EXPECT_FALSE(buffer_.TryHear<SampleReply>(learner_.peer()).has_value());
  Demonstrate(0);
  EXPECT_TRUE(buffer_.TryHear<SampleReply>(learner_.peer()).has_value());
}

TEST_F(SampleTest, ARepeatedQuestionTakesThePlaceOfTheFirst) {
  for (int i = 0; i < 3; ++i) {
    Ask({.table = "demonstrations", .n = 1, .request = 7, .min_items = 1});
  }
  Demonstrate(0);
  EXPECT_EQ(buffer_.NumHeard<SampleReply>(learner_.peer()), 1);
}

TEST_F(SampleTest, TheSameRequestDrawsTheSameItems) {
  for (uint64_t environment = 0; environment < 3; ++environment) {
    Demonstrate(environment);
  }
  const auto draw = [&](uint64_t request) {
    Ask({.table = "demonstrations", .n = 20, .request = request});
    std::vector<uint64_t> drawn;
    for (const MessageFrame& frame :
         buffer_.Hear<SampleReply>(learner_.peer()).records) {
      drawn.push_back(RecordView::ParseHeader(frame.bytes())->environment);
    }
    return drawn;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST_F(SampleTest, RefusesATableItDoesNotHave) {
  Ask({.table = "replay", .n = 1});
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "unknown_table"),
            "sample.table must be \"demonstrations\", got \"replay\"");
  BufferHarness without;
  FakeLearner learner(without);
  learner.Say(SampleRequest{.table = "demonstrations", .n = 1});
  EXPECT_EQ(without.HearRefusal(learner.peer(), "unknown_table"),
            "sample.table must be of a job with demonstrations, got "
            "\"demonstrations\"");
}

TEST_F(SampleTest, RefusesToWaitForMoreThanThereWillEverBe) {
  Ask({.table = "demonstrations", .n = 1, .min_items = 4});
  EXPECT_EQ(buffer_.HearRefusal(learner_.peer(), "malformed"),
            "sample.min_items must be at most 3, all that table "
            "\"demonstrations\" will ever hold, got 4");
}

}  // namespace
}  // namespace flywheel
