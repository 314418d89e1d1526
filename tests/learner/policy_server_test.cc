#include "services/learner/policy_server.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "services/wire/crc32c.h"
#include "services/wire/policy_codec.h"

namespace flywheel {
namespace {

PolicySnapshotPtr Version(int64_t version) {
  auto snapshot = std::make_shared<PolicySnapshot>();
  snapshot->version = {version};
  snapshot->kind = "mlp_gaussian";
  snapshot->bytes.assign(3 << 20, static_cast<std::byte>(version));
  snapshot->tensors = {{.name = "w", .shape = {(3 << 20) / 4}}};
  snapshot->crc32c = Crc32c(snapshot->bytes);
  return snapshot;
}

class PolicyServerTest : public testing::Test {
 protected:
  ~PolicyServerTest() override { std::filesystem::remove_all(folder_); }

  DealerChannel Rollout(const std::string& identity) {
    return *DealerChannel::Connect(
        context_, {.endpoint = endpoint_, .identity = identity});
  }

  // Asks until the question leaves: the connection takes a moment.
  void Ask(DealerChannel& rollout, int64_t newer_than) {
    const absl::Time deadline = absl::Now() + absl::Seconds(10);
    absl::Status sent;
    do {
      sent = rollout.Send(
          {MessageFrame(FetchPolicyBytes({.newer_than = newer_than}))});
    } while (!sent.ok() && absl::Now() < deadline);
    ASSERT_TRUE(sent.ok()) << sent;
  }

  int64_t Answer(DealerChannel& rollout) {
    const auto received = rollout.Receive(absl::Seconds(10));
    if (!received.ok() || !received->has_value()) return -1;
    const auto snapshot = PolicyFromFrames(**received);
    return snapshot.ok() ? (*snapshot)->version.value : -2;
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-policies-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  const std::string endpoint_ = "ipc://" + folder_ + "/policy";
  ZmqContext context_;
  std::unique_ptr<PolicyServer> server_ =
      *PolicyServer::Start(context_, endpoint_);
};

TEST_F(PolicyServerTest, AnswersWithTheNewestVersion) {
  server_->Publish(Version(0));
  server_->Publish(Version(1));
  DealerChannel rollout = Rollout("rollout-0");
  Ask(rollout, -1);
  EXPECT_EQ(Answer(rollout), 1);
}

TEST_F(PolicyServerTest, AQuestionWaitsForWhatIsPublishedLater) {
  server_->Publish(Version(3));
  DealerChannel rollout = Rollout("rollout-0");
  Ask(rollout, 2);
  EXPECT_EQ(Answer(rollout), 3);
  Ask(rollout, 3);
  server_->Publish(Version(4));
  EXPECT_EQ(Answer(rollout), 4);
}

TEST_F(PolicyServerTest, EveryRolloutThatWaitsIsAnswered) {
  DealerChannel first = Rollout("rollout-0");
  DealerChannel second = Rollout("rollout-1");
  Ask(first, -1);
  Ask(second, -1);
  server_->Publish(Version(0));
  EXPECT_EQ(Answer(first), 0);
  EXPECT_EQ(Answer(second), 0);
}

// The version it has is of a learner's former life, which got further.
TEST_F(PolicyServerTest, AnotherLineageIsAnsweredWhateverTheNumber) {
  auto snapshot = std::make_shared<PolicySnapshot>(*Version(3));
  snapshot->lineage = 8;
  server_->Publish(snapshot);
  DealerChannel rollout = Rollout("rollout-0");
  const std::string question =
      FetchPolicyBytes({.newer_than = 20, .lineage = 7});
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (!rollout.Send({MessageFrame(question)}).ok() &&
         absl::Now() < deadline) {
  }
  EXPECT_EQ(Answer(rollout), 3);
}

TEST_F(PolicyServerTest, NonsenseGetsNoAnswerAndDisturbsNobody) {
  server_->Publish(Version(0));
  DealerChannel rude = Rollout("rude");
  DealerChannel rollout = Rollout("rollout-0");
  Ask(rollout, -1);
  EXPECT_EQ(Answer(rollout), 0);
  const absl::Time deadline = absl::Now() + absl::Seconds(10);
  while (
      !rude.Send({MessageFrame(std::string_view("\xff\xff nonsense"))}).ok() &&
      absl::Now() < deadline) {
  }
  Ask(rollout, -1);
  EXPECT_EQ(Answer(rollout), 0);
}

TEST_F(PolicyServerTest, AnOlderVersionNeverReplacesANewerOne) {
  server_->Publish(Version(5));
  server_->Publish(Version(4));
  EXPECT_EQ(server_->store().Newest()->version.value, 5);
}

TEST(PolicyStoreTest, KeepsTheNewestFew) {
  PolicyStore store(2);
  for (int64_t version = 0; version < 3; ++version) {
    auto snapshot = std::make_shared<PolicySnapshot>();
    snapshot->version = {version};
    EXPECT_TRUE(store.Publish(snapshot));
  }
  EXPECT_EQ(store.Find({0}), nullptr);
  EXPECT_EQ(store.Find({1})->version.value, 1);
  EXPECT_EQ(store.Newest()->version.value, 2);
}

}  // namespace
}  // namespace flywheel
