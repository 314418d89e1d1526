#include "services/buffer/buffer_server.h"

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/buffer_harness.h"

namespace flywheel {
namespace {

TEST(BufferServerTest, RefusesWhatIsNoMessageAndCountsIt) {
  BufferHarness buffer;
  buffer.SayFrames("stranger", {MessageFrame(std::string_view("\xff\xff"))});
  buffer.HearRefusal("stranger", "malformed");
  buffer.SayFrames("stranger", {MessageFrame(std::string_view(""))});
  EXPECT_TRUE(buffer.HearRefusal("stranger", "malformed").find("ToBuffer") !=
              std::string::npos);
  buffer.SayFrames("stranger", {});
  EXPECT_EQ(buffer.HearRefusal("stranger", "malformed"),
            "a message must have a frame");
  buffer.Say("stranger", 0, 1, Delivery{.sequence = 0, .credit = 0});
  buffer.HearRefusal("stranger", "malformed");
  EXPECT_EQ(buffer.server.outbox().refusals().at("malformed"), 4);
}

TEST(BufferServerTest, SurvivesAnyBytes) {
  const auto seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  BufferHarness buffer;
  FakeRollout rollout(buffer, 0);
  const std::vector<std::string> good = {
      ToBufferBytes({.incarnation = 1, .message = rollout.Hello()}),
      ToBufferBytes({.incarnation = 1, .message = CreditRequest{{0, 1}}}),
      ToBufferBytes({.incarnation = 1, .message = ActingVersion{{3}}}),
      ToBufferBytes(
          {.incarnation = 1, .message = Delivery{.sequence = 1, .credit = 1}}),
      ToBufferBytes({.incarnation = 1, .message = LearnerHello{3}}),
      ToBufferBytes({.incarnation = 1, .message = TakeRequest{.step = 3}}),
      ToBufferBytes({.incarnation = 1, .message = Release{2}})};
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good[random() % good.size()];
    for (uint64_t flips = random() % 3; flips > 0; --flips) {
      bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    }
    if (random() % 10 == 0) bytes.resize(random() % bytes.size());
    std::vector<MessageFrame> frames = {MessageFrame(std::string_view(bytes))};
    if (random() % 10 == 0) frames.emplace_back(std::string_view("junk"));
    buffer.SayFrames("stranger", std::move(frames));
    if (i % 100 == 0) buffer.AdvanceTime(absl::Seconds(1));
  }
  EXPECT_GT(buffer.server.outbox().refusals().at("malformed"), 100);
}

TEST(BufferServerTest, ABatchMustFitIntoOneMessage) {
  JobSpec job = SmallJob();
  EXPECT_TRUE(BufferServer::CheckJob(job).ok());
  job.algorithm.batch_credits = 65536;
  EXPECT_EQ(BufferServer::CheckJob(job).message(),
            "algorithm.batch_credits must be at most 65535, the records one "
            "message carries, got 65536");
}

// What a train step without policy lag was made of, however its rollouts and
// environments took turns.
std::vector<uint64_t> SynchronousList(int num_rollouts, uint64_t seed) {
  JobSpec job = SmallJob();
  job.algorithm.batch_credits = 8;
  job.pacing.max_policy_lag = 0;
  job.resources.rollouts = num_rollouts;
  job.resources.environments_per_rollout = 4 / num_rollouts;
  BufferHarness buffer(job);
  FakeLearner learner(buffer);
  learner.SayHello(0);
  std::vector<FakeRollout> rollouts;
  for (int i = 0; i < num_rollouts; ++i) {
    rollouts.emplace_back(buffer, i, 1, 4 / num_rollouts);
    rollouts.back().SayHello();
    rollouts.back().Act(0);
  }
  learner.AskFor(0);
  std::mt19937_64 random(seed);
  std::map<uint64_t, std::optional<Credit>> environments;
  std::map<uint64_t, uint64_t> episodes;
  for (uint64_t i = 0; i < 4; ++i) environments[i] = std::nullopt;
  for (int turns = 0; turns < 1000; ++turns) {
    const uint64_t environment = random() % 4;
    FakeRollout& rollout = rollouts[environment * num_rollouts / 4];
    std::optional<Credit>& credit = environments[environment];
    if (!credit.has_value()) {
      rollout.Request({environment});
    } else {
      JobRecord record = rollout.Record(*credit);
      record.episode = episodes[environment]++;
      EXPECT_EQ(rollout.Deliver(*credit, {JobFrame(record)}).refused_reason,
                "");
      credit.reset();
    }
    for (FakeRollout& each : rollouts) {
      while (const auto grant = buffer.TryHear<CreditGrant>(each.peer())) {
        const Credit& given = grant->message.credit;
        environments[given.environment] = given;
      }
    }
    const auto taken = buffer.TryHear<TakeReply>(learner.peer());
    if (!taken.has_value()) continue;
    std::vector<uint64_t> list;
    for (const MessageFrame& frame : taken->records) {
      const RecordHeader header = *RecordView::ParseHeader(frame.bytes());
      list.push_back(header.environment * 100 + header.episode);
    }
    return list;
  }
  return {};
}

TEST(BufferServerTest, WithoutLagAListDoesNotDependOnWhoWasFaster) {
  const auto first = std::random_device()();
  const std::vector<uint64_t> expected = {0, 1, 100, 101, 200, 201, 300, 301};
  for (uint64_t seed = first; seed < first + 50; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    for (const int num_rollouts : {1, 2, 4}) {
      ASSERT_EQ(SynchronousList(num_rollouts, seed), expected);
    }
  }
}

}  // namespace
}  // namespace flywheel
