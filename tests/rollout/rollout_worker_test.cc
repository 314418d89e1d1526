#include "services/rollout/rollout_worker.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "services/core/clock.h"
#include "services/rollout/task_schema.h"
#include "services/wire/crc32c.h"
#include "services/wire/data_codec.h"
#include "services/wire/policy_codec.h"
#include "services/wire/record.h"
#include "services/wire/router_channel.h"
#include "tests/testing/counting_environment_pool.h"

namespace flywheel {
namespace {

constexpr int kEnvironments = 2;
constexpr int kEpisodeSteps = 5;
constexpr int kUnroll = 3;

// Answers with the first noise element of each row.
class EchoPolicy final : public ActingPolicy {
 public:
  absl::Status Load(const PolicySnapshot& snapshot) override {
    loaded.push_back(snapshot.version.value);
    return absl::OkStatus();
  }
  void Act(const ActingBatch& batch) override {
    for (std::size_t row = 0; row < batch.value.size(); ++row) {
      batch.actions[row] = batch.noise[row];
      batch.log_probability[row] = -1;
      batch.value[row] = 2;
    }
  }
  std::vector<int64_t> loaded;
};

// A rollout joined with a hand-driven buffer and learner over real sockets.
class RolloutWorkerTest : public testing::Test {
 protected:
  RolloutWorkerTest() {
    job_.policy.action_chunk = 1;
    job_.algorithm.unroll_length = kUnroll;
    job_.resources.environments_per_rollout = kEnvironments;
    job_.resources.threads_per_rollout = 0;
    job_.pacing.max_policy_lag = 0;
    job_.pretraining.scripted = true;
    schema_ = TaskSchema(pool_.spec(), job_.policy);
    buffer_link_ = std::make_unique<BufferLink>(
        Dealer(buffer_),
        BufferLink::Options{.worker = 0,
                            .incarnation = 7,
                            .schema = schema_,
                            .num_environments = kEnvironments,
                            .repeat_after = absl::Milliseconds(50)},
        clock_);
    policy_link_ = std::make_unique<PolicyLink>(
        Dealer(learner_), PolicyLink::Options{.worker = 0}, clock_);
    worker_ = std::make_unique<RolloutWorker>(
        RolloutWorker::Options{.job = job_, .worker = 0, .incarnation = 7},
        pool_, policy_, *buffer_link_, *policy_link_, clock_);
  }
  ~RolloutWorkerTest() override { std::filesystem::remove_all(folder_); }

  DealerChannel Dealer(const RouterChannel& router) {
    return *DealerChannel::Connect(
        context_, {.endpoint = router.endpoint(), .identity = "rollout-0"});
  }

  // Runs the worker until the buffer hears a message of this type.
  template <typename Message>
  std::pair<Message, std::vector<MessageFrame>> Hear() {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      EXPECT_TRUE(worker_->RunOnce().ok());
      auto received = *buffer_.Receive(absl::Milliseconds(1));
      if (!received.has_value()) continue;
      peer_ = received->peer;
      ToBuffer message = *ToBufferFromBytes(received->frames[0].text());
      if (auto* found = std::get_if<Message>(&message.message)) {
        received->frames.erase(received->frames.begin());
        return {*found, received->frames};
      }
    }
    ADD_FAILURE() << "the message never came";
    return {};
  }

  // Whether a request for just these environments comes. Others may come before
  // it: whatever is not answered within 50 ms is said again.
  bool HearRequestFor(const std::vector<uint64_t>& environments) {
    while (!HasFailure()) {
      if (Hear<CreditRequest>().first.environments == environments) return true;
    }
    return false;
  }

  // Runs the worker until `condition`; false if that takes too long.
  template <typename Condition>
  bool Until(Condition condition) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (!condition()) {
      if (absl::Now() > deadline || !worker_->RunOnce().ok()) return false;
    }
    return true;
  }

  template <typename Message>
  void Say(Message message) {
    ASSERT_TRUE(buffer_
                    .Send(peer_, {MessageFrame(FromBufferBytes(
                                     {.buffer_incarnation = incarnation_,
                                      .message = std::move(message)}))})
                    .ok());
  }

  void Welcome() {
    Hear<RolloutHello>();
    Say(flywheel::Welcome{});
  }

  // Waits for the worker's question and answers with version `version`.
  void Publish(int64_t version, uint64_t lineage = 1) {
    auto snapshot = std::make_shared<PolicySnapshot>();
    snapshot->lineage = lineage;
    snapshot->version = {version};
    snapshot->bytes.resize(64);
    snapshot->tensors = {{.name = "w", .shape = {16}}};
    snapshot->crc32c = Crc32c(snapshot->bytes);
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    while (absl::Now() < deadline) {
      ASSERT_TRUE(worker_->RunOnce().ok());
      auto received = *learner_.Receive(absl::Milliseconds(1));
      if (!received.has_value()) continue;
      ASSERT_TRUE(learner_.Send(received->peer, PolicyFrames(snapshot)).ok());
      return;
    }
    FAIL() << "no question came";
  }

  void Grant(uint64_t environment, uint64_t credit,
             CreditKind kind = CreditKind::kTraining) {
    Say(CreditGrant{{.id = credit,
                     .environment = environment,
                     .kind = kind,
                     .version = {0},
                     .deadline = 4}});
  }

  RecordView View(const MessageFrame& frame) {
    return *RecordView::Parse(frame.bytes(), schema_, SchemaHash(schema_));
  }
  float Column(const MessageFrame& frame, std::string_view name,
               std::size_t item) {
    return View(frame).elements<float>(schema_.Find(name))[item];
  }

  std::string folder_ = [] {
    char name[] = "/tmp/flywheel-worker-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  ZmqContext context_;
  RouterChannel buffer_ = *RouterChannel::Bind(
      context_, {.endpoint = "ipc://" + folder_ + "/buffer"});
  RouterChannel learner_ = *RouterChannel::Bind(
      context_, {.endpoint = "ipc://" + folder_ + "/policy"});
  SystemClock clock_;
  JobSpec job_;
  CountingEnvironmentPool pool_{kEnvironments, kEpisodeSteps};
  EchoPolicy policy_;
  TrajectorySchema schema_;
  std::unique_ptr<BufferLink> buffer_link_;
  std::unique_ptr<PolicyLink> policy_link_;
  std::unique_ptr<RolloutWorker> worker_;
  std::string peer_;
  uint64_t incarnation_ = 1;
};

TEST_F(RolloutWorkerTest, AsksForACreditForEachEnvironment) {
  Welcome();
  EXPECT_EQ(Hear<CreditRequest>().first.environments,
            (std::vector<uint64_t>{0, 1}));
}

TEST_F(RolloutWorkerTest, TellsTheBufferWhichVersionItActsWith) {
  Welcome();
  Publish(3);
  EXPECT_EQ(Hear<ActingVersion>().first.version.value, 3);
  EXPECT_EQ(policy_.loaded, std::vector<int64_t>{3});
}

TEST_F(RolloutWorkerTest, FollowsALearnerThatFellBackInItsNextLife) {
  Welcome();
  Publish(9);
  EXPECT_EQ(Hear<ActingVersion>().first.version.value, 9);
  Publish(4, 2);
  EXPECT_EQ(Hear<ActingVersion>().first.version.value, 4);
  EXPECT_EQ(policy_.loaded, (std::vector<int64_t>{9, 4}));
}

TEST_F(RolloutWorkerTest, HandsInExactlyUnrollLengthChunksUnderACredit) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  Grant(1, 11);
  const auto [delivery, records] = Hear<Delivery>();
  EXPECT_EQ(delivery.credit, 11u);
  ASSERT_EQ(records.size(), 1u);
  const RecordHeader header = View(records[0]).header();
  EXPECT_EQ(header.environment, 1u);
  EXPECT_EQ(header.credit, 11u);
  EXPECT_EQ(header.num_chunks, kUnroll);
  EXPECT_EQ(Column(records[0], "observation/state", 0), 0);
  EXPECT_EQ(Column(records[0], "observation/state", 2), 2);
  EXPECT_EQ(Column(records[0], "final_observation/state", 0), 3);
  EXPECT_EQ(Column(records[0], column::kValue, 0), 2);
}

TEST_F(RolloutWorkerTest, GoesOnWithTheEpisodeUnderTheNextCredit) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  Grant(0, 11);
  Hear<Delivery>();
  Say(Acknowledgment{.acknowledged_through = 1});
  Grant(0, 12);
  const auto [delivery, records] = Hear<Delivery>();
  EXPECT_EQ(delivery.credit, 12u);
  // Two steps end the episode, one chunk begins the next under this credit.
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(View(records[0]).header().num_chunks, 2u);
  EXPECT_EQ(View(records[0]).header().first_step, 3u);
  EXPECT_EQ(Column(records[0], "observation/state", 0), 3);
  EXPECT_EQ(Column(records[0], column::kEpisodeReturn, 0), kEpisodeSteps);
  EXPECT_EQ(View(records[1]).header().episode, 1u);
  EXPECT_EQ(View(records[1]).header().first_step, 0u);
  EXPECT_EQ(Column(records[1], column::kRunningReturn, 0), 0);
}

TEST_F(RolloutWorkerTest, ReturnsACreditThatIsCalledInBeforeItsFirstChunk) {
  Welcome();
  Grant(0, 11);  // No policy yet: the environment waits.
  Say(CallIn{{11}});
  const auto [delivery, records] = Hear<Delivery>();
  EXPECT_EQ(delivery.credit, 11u);
  EXPECT_TRUE(records.empty());
}

TEST_F(RolloutWorkerTest, SendsADeliveryAgainUntilItIsAcknowledged) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  Grant(0, 11);
  const Delivery first = Hear<Delivery>().first;
  const Delivery again = Hear<Delivery>().first;
  EXPECT_EQ(first.sequence, again.sequence);
  Say(Acknowledgment{.acknowledged_through = 1});
  EXPECT_TRUE(Until([&] { return buffer_link_->unacknowledged() == 0; }));
}

TEST_F(RolloutWorkerTest, CountsWhatTheBufferRefusesByItsReason) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  Grant(0, 11);
  Hear<Delivery>();
  Say(Acknowledgment{.acknowledged_through = 1,
                     .refused_reason = "stale",
                     .refused_message = "credit 11 is overdue"});
  EXPECT_TRUE(Until([&] { return worker_->Status().drops["stale"] == 1; }));
}

TEST_F(RolloutWorkerTest, ForgetsItsCreditsWhenTheBufferIsANewOne) {
  Welcome();
  Grant(0, 11);
  Hear<CreditRequest>();
  incarnation_ = 2;
  Say(Refusal{.reason = "unknown_worker"});
  Hear<RolloutHello>();
  Say(flywheel::Welcome{});
  EXPECT_TRUE(HearRequestFor({0, 1}));
}

TEST_F(RolloutWorkerTest, NoRequestIsOutstandingWhenItEnds) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  Grant(0, 11);
  ASSERT_TRUE(Until([&] { return pool_.outstanding() > 0; }));
  worker_.reset();
  EXPECT_EQ(pool_.outstanding(), 0u);
}

TEST_F(RolloutWorkerTest, ADemonstrationIsOneWholeEpisodeOfTheExpert) {
  Welcome();
  Grant(0, 11, CreditKind::kDemonstration);
  const auto [delivery, records] = Hear<Delivery>();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(View(records[0]).header().num_steps, kEpisodeSteps);
  EXPECT_EQ(Column(records[0], column::kAction, 0), 0.5f);
}

TEST_F(RolloutWorkerTest, ABrokenEpisodeReturnsItsCreditAndIsCounted) {
  Welcome();
  Publish(0);
  Hear<ActingVersion>();
  pool_.failing_environment = 0;
  Grant(0, 11);
  const auto [delivery, records] = Hear<Delivery>();
  EXPECT_TRUE(records.empty());
  EXPECT_EQ(worker_->Status().drops.at("environment_failed"), 1);
}

TEST_F(RolloutWorkerTest, AFencedRolloutEnds) {
  Welcome();
  Say(Refusal{.reason = "fenced", .message = "incarnation 8 has your place"});
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  absl::Status status;
  while (status.ok() && absl::Now() < deadline) status = worker_->RunOnce();
  EXPECT_EQ(status.code(), absl::StatusCode::kAborted);
}

TEST_F(RolloutWorkerTest, ADamagedPolicyIsNotLoaded) {
  Welcome();
  auto snapshot = std::make_shared<PolicySnapshot>();
  snapshot->bytes.resize(64);
  std::vector<MessageFrame> frames = PolicyFrames(snapshot);
  std::vector<std::byte> damaged(64, std::byte{1});
  frames.back() = MessageFrame(std::move(damaged));
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (policy_link_->damaged() == 0 && absl::Now() < deadline) {
    if (auto received = *learner_.Receive(absl::Milliseconds(1))) {
      ASSERT_TRUE(learner_.Send(received->peer, frames).ok());
    }
    ASSERT_TRUE(worker_->RunOnce().ok());
  }
  EXPECT_GE(policy_link_->damaged(), 1);
  EXPECT_TRUE(policy_.loaded.empty());
}

}  // namespace
}  // namespace flywheel
