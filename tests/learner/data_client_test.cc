#include "services/learner/data_client.h"

#include <cstdlib>
#include <filesystem>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/wire/data_codec.h"
#include "services/wire/router_channel.h"

namespace flywheel {
namespace {

// A client that asks in a thread of its own, and a hand-driven buffer.
class DataClientTest : public testing::Test {
 protected:
  ~DataClientTest() override { std::filesystem::remove_all(folder_); }

  // Waits for a message of this type from the client.
  template <typename Message>
  Message Hear() {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      const auto received = *buffer_.Receive(absl::Milliseconds(100));
      if (!received.has_value()) continue;
      peer_ = received->peer;
      const ToBuffer message = *ToBufferFromBytes(received->frames[0].text());
      if (const auto* found = std::get_if<Message>(&message.message)) {
        return *found;
      }
    }
    ADD_FAILURE() << "the message never came";
    return {};
  }

  template <typename Message>
  void Say(Message message, std::vector<MessageFrame> records = {}) {
    records.insert(
        records.begin(),
        MessageFrame(FromBufferBytes(
            {.buffer_incarnation = 1, .message = std::move(message)})));
    ASSERT_TRUE(buffer_.Send(peer_, records).ok());
  }

  auto Taking(int64_t step) {
    return std::async(std::launch::async,
                      [this, step] { return client_.Take(step, 0.25); });
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-data-client-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  const std::string endpoint_ = "ipc://" + folder_ + "/buffer";
  ZmqContext context_;
  RouterChannel buffer_ =
      *RouterChannel::Bind(context_, {.endpoint = endpoint_});
  std::stop_source stop_;
  DataClient client_{
      *DealerChannel::Connect(context_,
                              {.endpoint = endpoint_, .identity = "learner-0"}),
      {.incarnation = 5, .repeat_after = absl::Milliseconds(50)},
      stop_.get_token()};
  std::string peer_;
};

TEST_F(DataClientTest, AsksForTheSchemaUntilARolloutHasBroughtIt) {
  auto schema =
      std::async(std::launch::async, [this] { return client_.AwaitSchema(7); });
  EXPECT_EQ(Hear<LearnerHello>().next_train_step, 7);
  Say(LearnerWelcome{});
  Hear<LearnerHello>();
  Say(LearnerWelcome{.schema = TrajectorySchema{{{.name = "action"}}}});
  const absl::StatusOr<TrajectorySchema> answer = schema.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->columns[0].name, "action");
}

TEST_F(DataClientTest, TakesTheRecordsOfItsStepAndNoOthers) {
  auto records = Taking(3);
  EXPECT_EQ(Hear<TakeRequest>().step, 3);
  Say(TakeReply{.step = 2, .num_records = 1}, {MessageFrame("old")});
  Say(TakeReply{.step = 3, .num_records = 2},
      {MessageFrame("a"), MessageFrame("b")});
  const auto answer = records.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->size(), 2u);
  EXPECT_EQ((*answer)[1].text(), "b");
}

TEST_F(DataClientTest, AfterASilenceItSaysWhereItStandsAndAsksAgain) {
  auto records = Taking(3);
  Hear<TakeRequest>();
  EXPECT_EQ(Hear<LearnerHello>().next_train_step, 3);
  const TakeRequest again = Hear<TakeRequest>();
  EXPECT_EQ(again.step, 3);
  EXPECT_EQ(again.waited_share, 0.25);
  Say(TakeReply{.step = 3});
  EXPECT_TRUE(records.get().ok());
}

TEST_F(DataClientTest, AListThatIsGoneIsAnErrorThatNamesTheStep) {
  auto records = Taking(3);
  Hear<TakeRequest>();
  Say(Refusal{.reason = "released", .message = "its list is not kept"});
  const auto answer = records.get();
  EXPECT_EQ(answer.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(answer.status().message()).find("train step 3"),
            std::string::npos);
}

TEST_F(DataClientTest, AFencedLearnerGivesUp) {
  auto records = Taking(3);
  Hear<TakeRequest>();
  Say(Refusal{.reason = "fenced", .message = "incarnation 6 has its place"});
  EXPECT_EQ(records.get().status().code(), absl::StatusCode::kAborted);
}

TEST_F(DataClientTest, ARequestedStopEndsTheWait) {
  auto records = Taking(3);
  Hear<TakeRequest>();
  stop_.request_stop();
  EXPECT_EQ(records.get().status().code(), absl::StatusCode::kCancelled);
}

// A buffer that was started again gives no credits before it knows that.
TEST_F(DataClientTest, WhileItSamplesASilentBufferHearsWhereTrainingStands) {
  auto sample = std::async(std::launch::async, [this] {
    return client_.Sample("demonstrations", 1, 1);
  });
  Hear<SampleRequest>();
  EXPECT_EQ(Hear<LearnerHello>().next_train_step, 0);
  const SampleRequest again = Hear<SampleRequest>();
  Say(SampleReply{.request = again.request, .num_records = 1},
      {MessageFrame(std::string_view("record"))});
  EXPECT_TRUE(sample.get().ok());
}

TEST_F(DataClientTest, ASampleIsAnsweredByItsOwnRequestOnly) {
  auto records = std::async(std::launch::async, [this] {
    return client_.Sample("demonstrations", 2, 10);
  });
  const SampleRequest request = Hear<SampleRequest>();
  EXPECT_EQ(request.n, 2u);
  EXPECT_EQ(request.min_items, 10u);
  Say(SampleReply{.request = request.request + 1});
  Say(SampleReply{.request = request.request, .num_records = 1},
      {MessageFrame("x")});
  const auto answer = records.get();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->size(), 1u);
}

}  // namespace
}  // namespace flywheel
