#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/buffer_server.h"
#include "services/wire/data_codec.h"
#include "tests/buffer/job_record.h"
#include "tests/testing/fake_clock.h"

namespace flywheel {

inline constexpr uint64_t kBufferIncarnation = 77;

// A job of one rollout with four environments: two credits of four chunks per
// train step, policy lag at most 1.
inline JobSpec SmallJob() {
  JobSpec job;
  job.algorithm.batch_credits = 2;
  job.algorithm.unroll_length = 4;
  job.pacing.max_policy_lag = 1;
  job.resources.environments_per_rollout = 4;
  return job;
}

// A buffer server fed with hand-written messages; keeps what it answers.
class BufferHarness {
 public:
  explicit BufferHarness(const JobSpec& job = SmallJob())
      : server(job, kBufferIncarnation,
               [this](const std::string& peer,
                      const std::vector<MessageFrame>& frames) {
                 return Keep(peer, frames);
               }) {}

  // A message with the records that followed it.
  template <typename Message>
  struct Heard {
    Message message;
    std::vector<MessageFrame> records;
  };

  // `peer` sends a message; then the server advances.
  template <typename Message>
  void Say(const std::string& peer, uint64_t worker, uint64_t incarnation,
           Message message, const std::vector<MessageFrame>& records = {}) {
    std::vector<MessageFrame> frames = {
        MessageFrame(ToBufferBytes({.worker = worker,
                                    .incarnation = incarnation,
                                    .message = std::move(message)}))};
    frames.insert(frames.end(), records.begin(), records.end());
    SayFrames(peer, std::move(frames));
  }
  void SayFrames(const std::string& peer, std::vector<MessageFrame> frames) {
    server.Handle({.peer = peer, .frames = std::move(frames)}, clock.Now());
    server.Advance(clock.Now());
  }
  void AdvanceTime(absl::Duration by) {
    clock.Advance(by);
    server.Advance(clock.Now());
  }

  // Takes the oldest message of this type to `peer`; fails the test if there is
  // none.
  template <typename Message>
  Heard<Message> Hear(const std::string& peer) {
    std::optional<Heard<Message>> heard = TryHear<Message>(peer);
    EXPECT_TRUE(heard.has_value()) << "no such message to " << peer;
    return std::move(heard).value_or(Heard<Message>{});
  }
  template <typename Message>
  std::optional<Heard<Message>> TryHear(const std::string& peer) {
    auto& inbox = inboxes_[peer];
    const auto found =
        std::find_if(inbox.begin(), inbox.end(), [](const auto& entry) {
          return std::holds_alternative<Message>(entry.message.message);
        });
    if (found == inbox.end()) return std::nullopt;
    Heard<Message> heard = {
        .message = std::get<Message>(found->message.message),
        .records = found->records};
    inbox.erase(found);
    return heard;
  }
  template <typename Message>
  int NumHeard(const std::string& peer) {
    int count = 0;
    while (TryHear<Message>(peer).has_value()) ++count;
    return count;
  }

  // Expects exactly one refusal of this reason.
  std::string HearRefusal(const std::string& peer, const std::string& reason) {
    const auto refusal = Hear<Refusal>(peer).message;
    EXPECT_EQ(refusal.reason, reason) << refusal.message;
    EXPECT_EQ(NumHeard<Refusal>(peer), 0);
    return refusal.message;
  }

  // Peers that cannot be reached: sending to them fails.
  std::set<std::string> gone;

  FakeClock clock;
  BufferServer server;

 private:
  struct Entry {
    FromBuffer message;
    std::vector<MessageFrame> records;
  };

  absl::Status Keep(const std::string& peer,
                    const std::vector<MessageFrame>& frames) {
    if (gone.contains(peer)) return absl::NotFoundError(peer);
    absl::StatusOr<FromBuffer> message =
        FromBufferFromBytes(frames.front().text());
    EXPECT_TRUE(message.ok()) << message.status();
    EXPECT_EQ(message->buffer_incarnation, kBufferIncarnation);
    inboxes_[peer].push_back(
        {*std::move(message), {frames.begin() + 1, frames.end()}});
    return absl::OkStatus();
  }

  std::map<std::string, std::deque<Entry>> inboxes_;
};

// A rollout that says what it is told to.
class FakeRollout {
 public:
  FakeRollout(BufferHarness& buffer, uint64_t worker, uint64_t incarnation = 1,
              uint64_t environments = 4)
      : buffer_(buffer),
        worker_(worker),
        incarnation_(incarnation),
        environments_(environments),
        peer_("rollout-" + std::to_string(worker)) {}

  template <typename Message>
  void Say(Message message, const std::vector<MessageFrame>& records = {}) {
    buffer_.Say(peer_, worker_, incarnation_, std::move(message), records);
  }
  RolloutHello Hello() const {
    return {.schema = JobSchema(),
            .first_environment = worker_ * environments_,
            .num_environments = environments_};
  }
  Welcome SayHello() {
    Say(Hello());
    return buffer_.Hear<Welcome>(peer_).message;
  }
  void Act(int64_t version) { Say(ActingVersion{{version}}); }
  void Request(std::vector<uint64_t> environments) {
    Say(CreditRequest{std::move(environments)});
  }
  Credit Granted() { return buffer_.Hear<CreditGrant>(peer_).message.credit; }
  bool HasGrant() { return buffer_.TryHear<CreditGrant>(peer_).has_value(); }

  // What it would collect under `credit`.
  JobRecord Record(const Credit& credit) const {
    return {.worker = worker_,
            .incarnation = incarnation_,
            .credit = credit,
            .version = credit.version.value};
  }
  // Sends frames as its next delivery.
  Acknowledgment Deliver(const Credit& credit,
                         const std::vector<MessageFrame>& frames) {
    Say(Delivery{.sequence = ++sequence,
                 .credit = credit.id,
                 .num_records = static_cast<uint32_t>(frames.size()),
                 .trajectory_seconds = 0.1},
        frames);
    return buffer_.Hear<Acknowledgment>(peer_).message;
  }
  Acknowledgment Deliver(const Credit& credit) {
    return Deliver(credit, {JobFrame(Record(credit))});
  }

  const std::string& peer() const { return peer_; }
  uint64_t sequence = 0;

 private:
  BufferHarness& buffer_;
  const uint64_t worker_;
  const uint64_t incarnation_;
  const uint64_t environments_;
  const std::string peer_;
};

// A learner that says what it is told to.
class FakeLearner {
 public:
  explicit FakeLearner(BufferHarness& buffer, uint64_t incarnation = 1)
      : buffer_(buffer), incarnation_(incarnation) {}

  template <typename Message>
  void Say(Message message) {
    buffer_.Say(peer(), 0, incarnation_, std::move(message));
  }
  LearnerWelcome SayHello(int64_t step) {
    Say(LearnerHello{.next_train_step = step});
    return buffer_.Hear<LearnerWelcome>(peer()).message;
  }
  void AskFor(int64_t step) { Say(TakeRequest{.step = step}); }
  BufferHarness::Heard<TakeReply> Taken() {
    return buffer_.Hear<TakeReply>(peer());
  }
  bool HasList() { return buffer_.TryHear<TakeReply>(peer()).has_value(); }
  std::string peer() const { return "learner-0"; }

 private:
  BufferHarness& buffer_;
  const uint64_t incarnation_;
};

}  // namespace flywheel
