#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/buffer_harness.h"

namespace flywheel {
namespace {

constexpr int kSchedules = 40;
constexpr int64_t kTrainSteps = 20;
constexpr absl::Duration kTick = absl::Milliseconds(50);
constexpr absl::Duration kRepeatAfter = absl::Seconds(1);

// Both directions lose messages now and then.
class LossyBuffer {
 public:
  LossyBuffer(const JobSpec& job, std::mt19937_64& random)
      : harness(job), random_(random) {}

  template <typename Message>
  void Say(const std::string& peer, uint64_t worker, uint64_t incarnation,
           const Message& message,
           const std::vector<MessageFrame>& records = {}) {
    if (!Lost()) harness.Say(peer, worker, incarnation, message, records);
  }
  template <typename Message>
  std::optional<BufferHarness::Heard<Message>> TryHear(
      const std::string& peer) {
    auto heard = harness.TryHear<Message>(peer);
    while (heard.has_value() && Lost()) heard = harness.TryHear<Message>(peer);
    return heard;
  }
  absl::Time now() const { return harness.clock.Now(); }

  BufferHarness harness;

 private:
  bool Lost() { return random_() % 20 == 0; }
  std::mt19937_64& random_;
};

// A rollout that repeats what is not answered, and forgets all when it dies.
class Rollout {
 public:
  Rollout(LossyBuffer& buffer, uint64_t worker, int environments,
          std::mt19937_64& random)
      : buffer_(buffer),
        worker_(worker),
        peer_("rollout-" + std::to_string(worker)),
        random_(random),
        environments_(environments) {}

  void Die() {
    const int count = static_cast<int>(environments_.size());
    ++incarnation_;
    welcome_ = false;
    acting_ = -1;
    sequence_ = 0;
    unacknowledged_.clear();
    environments_.assign(count, {});
  }
  void ActWith(int64_t version) {
    if (version <= acting_) return;
    acting_ = version;
    Say(ActingVersion{{version}});
  }

  void Tick() {
    Hear();
    for (std::size_t i = 0; i < environments_.size(); ++i) Work(i);
    if (buffer_.now() - repeated_ < kRepeatAfter) return;
    repeated_ = buffer_.now();
    Repeat();
  }

 private:
  struct Environment {
    std::optional<Credit> credit;
    absl::Time done;
    uint64_t episode = 0;
  };
  struct Pending {
    Delivery delivery;
    std::vector<MessageFrame> records;
  };

  template <typename Message>
  void Say(const Message& message,
           const std::vector<MessageFrame>& records = {}) {
    buffer_.Say(peer_, worker_, incarnation_, message, records);
  }
  uint64_t First() const { return worker_ * environments_.size(); }

  void Hear() {
    if (buffer_.TryHear<Welcome>(peer_).has_value()) {
      welcome_ = true;
      if (acting_ >= 0) Say(ActingVersion{{acting_}});
    }
    while (const auto heard = buffer_.TryHear<CreditGrant>(peer_)) {
      const Credit& credit = heard->message.credit;
      Environment& environment = environments_[credit.environment - First()];
      if (environment.credit.has_value()) continue;
      environment.credit = credit;
      const bool straggles = random_() % 40 == 0;
      environment.done = buffer_.now() + absl::Milliseconds(random_() % 400) *
                                             (straggles ? 20 : 1);
    }
    while (const auto heard = buffer_.TryHear<CallIn>(peer_)) {
      for (const uint64_t credit : heard->message.credits) Finish(credit);
    }
    while (const auto heard = buffer_.TryHear<Revocation>(peer_)) {
      for (const uint64_t credit : heard->message.credits) Forget(credit);
    }
    while (const auto heard = buffer_.TryHear<Acknowledgment>(peer_)) {
      while (!unacknowledged_.empty() &&
             unacknowledged_.front().delivery.sequence <=
                 heard->message.acknowledged_through) {
        unacknowledged_.pop_front();
      }
    }
    while (const auto heard = buffer_.TryHear<Refusal>(peer_)) {
      // What is on its way from a dead incarnation is fenced.
      EXPECT_TRUE(heard->message.reason == "unknown_worker" ||
                  heard->message.reason == "fenced")
          << heard->message.message;
      if (heard->message.reason == "unknown_worker") welcome_ = false;
    }
  }
  void Finish(uint64_t credit) {
    for (Environment& environment : environments_) {
      if (environment.credit.has_value() && environment.credit->id == credit) {
        environment.done = buffer_.now();
      }
    }
  }
  void Forget(uint64_t credit) {
    for (Environment& environment : environments_) {
      if (environment.credit.has_value() && environment.credit->id == credit) {
        environment.credit.reset();
        Say(CreditRequest{{First() + (&environment - environments_.data())}});
      }
    }
  }
  void Work(std::size_t index) {
    Environment& environment = environments_[index];
    if (!environment.credit.has_value() || buffer_.now() < environment.done) {
      return;
    }
    Pending pending;
    pending.delivery = {.sequence = ++sequence_,
                        .credit = environment.credit->id,
                        .trajectory_seconds = 0.2};
    if (random_() % 20 != 0) {
      pending.records.push_back(
          JobFrame({.worker = worker_,
                    .incarnation = incarnation_,
                    .credit = *environment.credit,
                    .episode = environment.episode++,
                    .version = environment.credit->version.value}));
      pending.delivery.num_records = 1;
    }
    Say(pending.delivery, pending.records);
    unacknowledged_.push_back(std::move(pending));
    environment.credit.reset();
    Say(CreditRequest{{First() + index}});
  }
  void Repeat() {
    if (!welcome_) {
      Say(RolloutHello{.schema = JobSchema(),
                       .first_environment = First(),
                       .num_environments = environments_.size()});
      return;
    }
    if (acting_ >= 0) Say(ActingVersion{{acting_}});
    for (const Pending& pending : unacknowledged_) {
      Say(pending.delivery, pending.records);
    }
    CreditRequest again;
    for (std::size_t i = 0; i < environments_.size(); ++i) {
      if (!environments_[i].credit.has_value()) {
        again.environments.push_back(First() + i);
      }
    }
    if (!again.environments.empty()) Say(again);
  }

  LossyBuffer& buffer_;
  const uint64_t worker_;
  const std::string peer_;
  std::mt19937_64& random_;
  uint64_t incarnation_ = 1;
  bool welcome_ = false;
  int64_t acting_ = -1;
  uint64_t sequence_ = 0;
  absl::Time repeated_ = absl::InfinitePast();
  std::vector<Environment> environments_;
  std::deque<Pending> unacknowledged_;
};

// A learner that falls back to its checkpoint when it dies. Checks every list
// it gets against all it got before.
class Learner {
 public:
  Learner(LossyBuffer& buffer, const JobSpec& job)
      : buffer_(buffer), job_(job) {}

  void Die() {
    ++incarnation_;
    step_ = checkpoint_;
    trained_ = absl::InfiniteFuture();
    asked_ = absl::InfinitePast();
  }
  void Checkpoint() {
    checkpoint_ = step_;
    Say(Release{.before_step = step_});
  }

  void Tick() {
    if (buffer_.now() >= trained_) {
      trained_ = absl::InfiniteFuture();
      asked_ = absl::InfinitePast();
      newest_ = std::max(newest_, ++step_);
    }
    if (trained_ < absl::InfiniteFuture()) return;
    while (const auto heard = buffer_.TryHear<TakeReply>("learner-0")) {
      if (heard->message.step != step_) continue;
      Check(heard->records);
      trained_ = buffer_.now() + absl::Milliseconds(300);
      return;
    }
    EXPECT_FALSE(buffer_.TryHear<Refusal>("learner-0").has_value());
    if (buffer_.now() - asked_ < kRepeatAfter) return;
    asked_ = buffer_.now();
    Say(LearnerHello{.next_train_step = step_});
    Say(TakeRequest{.step = step_, .waited_share = 0.1});
  }

  int64_t step() const { return step_; }
  int64_t newest() const { return newest_; }

 private:
  template <typename Message>
  void Say(const Message& message) {
    buffer_.Say("learner-0", 0, incarnation_, message);
  }

  void Check(const std::vector<MessageFrame>& records) {
    std::vector<std::string> texts;
    std::set<uint64_t> credits;
    for (const MessageFrame& record : records) {
      const RecordHeader header = *RecordView::ParseHeader(record.bytes());
      texts.emplace_back(record.text());
      credits.insert(header.credit);
      const int64_t lag = step_ - header.behavior_version_min;
      EXPECT_GE(lag, 0);
      EXPECT_LE(lag, job_.pacing.max_policy_lag);
    }
    EXPECT_EQ(static_cast<int>(credits.size()), job_.algorithm.batch_credits);
    const auto [list, is_new] = lists_.emplace(step_, texts);
    EXPECT_EQ(list->second, texts) << "step " << step_ << " has another list";
    if (!is_new) return;
    for (const uint64_t credit : credits) {
      EXPECT_TRUE(used_.insert(credit).second)
          << "credit " << credit << " counts twice";
    }
  }

  LossyBuffer& buffer_;
  const JobSpec job_;
  uint64_t incarnation_ = 1;
  int64_t step_ = 0;
  int64_t newest_ = 0;
  int64_t checkpoint_ = 0;
  absl::Time trained_ = absl::InfiniteFuture();
  absl::Time asked_ = absl::InfinitePast();
  std::map<int64_t, std::vector<std::string>> lists_;
  std::set<uint64_t> used_;
};

void RunSchedule(uint64_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  JobSpec job = SmallJob();
  job.algorithm.batch_credits = 1 + static_cast<int>(random() % 6);
  job.pacing.max_policy_lag = static_cast<int64_t>(random() % 5);
  job.resources.rollouts = 2;
  LossyBuffer buffer(job, random);
  Rollout rollouts[] = {{buffer, 0, 4, random}, {buffer, 1, 4, random}};
  Learner learner(buffer, job);
  for (int tick = 0; tick < 20'000 && learner.newest() < kTrainSteps; ++tick) {
    buffer.harness.AdvanceTime(kTick);
    for (Rollout& rollout : rollouts) {
      rollout.Tick();
      if (random() % 5 == 0) rollout.ActWith(learner.newest());
      if (random() % 500 == 0) rollout.Die();
    }
    learner.Tick();
    if (random() % 100 == 0) learner.Checkpoint();
    if (random() % 300 == 0) learner.Die();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(learner.newest(), kTrainSteps) << "no progress";
}

TEST(LostMessagesTest, EveryTrajectoryStillCountsOnceAndTrainingGoesOn) {
  const uint64_t first = std::random_device()();
  std::cout << "first seed " << first << std::endl;
  for (uint64_t seed = first; seed < first + kSchedules; ++seed) {
    RunSchedule(seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace flywheel
