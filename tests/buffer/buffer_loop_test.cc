#include "services/buffer/buffer_loop.h"

#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/buffer_metrics.h"
#include "services/wire/data_codec.h"
#include "services/wire/dealer_channel.h"
#include "services/wire/zmq_context_channel.h"
#include "tests/buffer/buffer_harness.h"
#include "tests/testing/temp_folder.h"

namespace flywheel {
namespace {

// For what must happen; a test that waits this long has failed.
constexpr absl::Duration kLimit = absl::Seconds(20);

// A buffer with a rollout and a learner over real sockets, in one thread.
class BufferLoopTest : public testing::Test {
 protected:
  DealerChannel Dealer(const std::string& identity) {
    return *DealerChannel::Connect(
        context_, {.endpoint = endpoint_, .identity = identity});
  }

  template <typename Message>
  void Say(DealerChannel& dealer, Message message,
           const std::vector<MessageFrame>& records = {}) {
    std::vector<MessageFrame> frames = {MessageFrame(
        ToBufferBytes({.incarnation = 1, .message = std::move(message)}))};
    frames.insert(frames.end(), records.begin(), records.end());
    const absl::Time end = absl::Now() + kLimit;
    while (!dealer.Send(frames).ok()) {
      ASSERT_LT(absl::Now(), end) << "no connection";
      ASSERT_TRUE(loop_.RunOnce().ok());
    }
  }

  // Runs the buffer until `dealer` hears a message of this type.
  template <typename Message>
  std::pair<Message, std::vector<MessageFrame>> Hear(DealerChannel& dealer) {
    const absl::Time end = absl::Now() + kLimit;
    while (absl::Now() < end) {
      EXPECT_TRUE(loop_.RunOnce().ok());
      auto frames = *dealer.Receive(absl::ZeroDuration());
      if (!frames.has_value()) continue;
      const FromBuffer message = *FromBufferFromBytes(frames->front().text());
      const auto* found = std::get_if<Message>(&message.message);
      if (found == nullptr) continue;
      frames->erase(frames->begin());
      return {*found, *std::move(frames)};
    }
    ADD_FAILURE() << "the message never came";
    return {};
  }

  TempFolder folder_;
  ZmqContext context_;
  SystemClock clock_;
  const std::string endpoint_ = "ipc://" + (folder_ / "buffer");
  BufferLoop loop_{*RouterChannel::Bind(context_, {.endpoint = endpoint_}),
                   SmallJob(), kBufferIncarnation, clock_};
};

TEST_F(BufferLoopTest, ARecordGoesFromTheRolloutToTheLearnerUnchanged) {
  DealerChannel rollout = Dealer("rollout-0");
  DealerChannel learner = Dealer("learner-0");
  Say(rollout, RolloutHello{.schema = JobSchema(), .num_environments = 4});
  Hear<Welcome>(rollout);
  Say(learner, LearnerHello{.next_train_step = 0});
  EXPECT_EQ(Hear<LearnerWelcome>(learner).first.schema, JobSchema());
  Say(rollout, ActingVersion{{0}});
  Say(rollout, CreditRequest{{0, 1}});
  Say(learner, TakeRequest{.step = 0});
  const Credit credits[] = {Hear<CreditGrant>(rollout).first.credit,
                            Hear<CreditGrant>(rollout).first.credit};
  std::vector<std::string> sent;
  for (const Credit& credit : credits) {
    const MessageFrame frame = JobFrame({.credit = credit});
    sent.emplace_back(frame.text());
    Say(rollout,
        Delivery{
            .sequence = sent.size(), .credit = credit.id, .num_records = 1},
        {frame});
    EXPECT_EQ(Hear<Acknowledgment>(rollout).first.acknowledged_through,
              sent.size());
  }
  const auto [reply, records] = Hear<TakeReply>(learner);
  EXPECT_EQ(reply.step, 0);
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].text(), sent[0]);
  EXPECT_EQ(records[1].text(), sent[1]);
}

TEST_F(BufferLoopTest, StatusSaysWhereTimeWent) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(loop_.RunOnce().ok());
  const BufferStatus status = loop_.Status();
  EXPECT_GT(status.seconds_by_cause.at("waiting_for_requests"), 0);
  EXPECT_GT(status.seconds_by_cause.at("busy"), 0);
}

TEST_F(BufferLoopTest, MetricsShowWhatTheServerDid) {
  prometheus::Registry registry;
  BufferMetrics metrics(registry);
  DealerChannel rollout = Dealer("rollout-0");
  Say(rollout, CreditRequest{{0}});
  Hear<Refusal>(rollout);
  for (int i = 0; i < 2; ++i) metrics.Update(loop_.server(), loop_.Status());
  const std::string text =
      prometheus::TextSerializer().Serialize(registry.Collect());
  EXPECT_NE(text.find("flywheel_buffer_refused_messages_total{reason=\""
                      "unknown_worker\"} 1\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("flywheel_buffer_backlog_limit_credits 4\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace flywheel
