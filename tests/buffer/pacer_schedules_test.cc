#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/pacer.h"

namespace flywheel {
namespace {

constexpr int kSchedules = 1500;
constexpr int64_t kTrainSteps = 66;  // Of each schedule.

// One random job around a real pacer: rollouts that swap late, straggle, hang,
// die and return; a learner that trains, publishes and waits. Its own books
// hold every credit, and every promise of the pacer is checked against them.
class Schedule {
 public:
  explicit Schedule(uint64_t seed)
      : random_(seed),
        lag_limit_(Below(9)),
        batch_(1 + Below(8)),
        environments_(1 + Below(24)),
        workers_(1 + Below(4)),
        straggler_share_(Below(3) * 0.02),
        may_revoke_(lag_limit_ > 0 && Below(2) == 0),
        may_die_(Below(2) == 0),
        train_seconds_(0.2 + Uniform(4.0)),
        pacer_({.max_policy_lag = lag_limit_,
                .batch_credits = batch_,
                .environments = environments_,
                .overdue = may_revoke_ ? Overdue::kCallIn : Overdue::kWait,
                .overdue_limits = {.credit_deadline = absl::Seconds(20),
                                   .answer_deadline = absl::Seconds(2)}}),
        environment_(environments_),
        worker_(workers_) {}

  // True once kTrainSteps lists were made; stops at the first broken promise.
  bool Run() {
    Later(0.0, {.kind = Event::kTick});
    for (int i = 0; i < workers_; ++i) {
      if (may_die_) {
        Later(Uniform(200.0), {.kind = Event::kDeath, .worker = i});
      }
    }
    learner_waits_ = true;
    for (int events = 0; events < 200'000 && step_ < kTrainSteps; ++events) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.time;
      Handle(event);
      GiveWhatMayBe();
      if (learner_waits_) AskForAList();
      CheckBooks();
      if (testing::Test::HasFailure()) return false;
    }
    return step_ == kTrainSteps;
  }

  int64_t revoked_arrivals() const { return revoked_arrivals_; }
  int64_t num_called_in() const { return num_called_in_; }
  int64_t max_lag() const { return max_lag_; }

 private:
  struct Event {
    enum Kind { kTick, kFinish, kAnswer, kSwap, kTrained, kDeath, kReturn };
    double time = 0;
    uint64_t order = 0;
    Kind kind = kTick;
    int worker = 0;
    int64_t environment = 0;
    uint64_t credit = 0;
    int64_t version = 0;
    bool operator<(const Event& other) const {
      return std::pair(time, order) > std::pair(other.time, other.order);
    }
  };
  struct Environment {
    uint64_t credit = 0;  // 0: asks for one.
    bool hangs = false;   // Never finishes this credit, never answers.
  };
  struct Worker {
    bool alive = true;
    int64_t acting = 0;
  };

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % n); }
  double Uniform(double max) {
    return std::uniform_real_distribution<double>(0, max)(random_);
  }
  absl::Time Now() const { return absl::UnixEpoch() + absl::Seconds(now_); }
  int WorkerOf(int64_t environment) const {
    return static_cast<int>(environment % workers_);
  }
  void Later(double seconds, Event event) {
    event.time = now_ + seconds;
    event.order = ++num_events_;
    events_.push(event);
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case Event::kTick:
        return Tick();
      case Event::kFinish:
        return Deliver(event, /*empty=*/Below(50) == 0);
      case Event::kAnswer:
        return Deliver(event, /*empty=*/Below(4) == 0);
      case Event::kSwap:
        return Swap(event);
      case Event::kTrained:
        return Publish();
      case Event::kDeath:
        return Die(event.worker);
      case Event::kReturn:
        return ComeBack(event.worker);
    }
  }

  void Tick() {
    const Pacer::OverdueCredits overdue = pacer_.FindOverdue(Now());
    if (!may_revoke_ || !learner_waits_) {
      EXPECT_TRUE(overdue.call_in.empty() && overdue.revoked.empty());
    }
    CallIn(overdue.call_in);
    for (const uint64_t credit : overdue.revoked) {
      EXPECT_EQ(out_.erase(credit), 1u);
      revoked_.insert(credit);
      // The rollout gives it up, but what it has may be on its way already.
      for (Environment& environment : environment_) {
        if (environment.credit != credit) continue;
        if (environment.hangs || Below(2) == 0) environment = {};
      }
    }
    Later(0.5, {.kind = Event::kTick});
  }

  void CallIn(const std::vector<uint64_t>& credits) {
    EXPECT_TRUE(credits.empty() || lag_limit_ > 0);
    num_called_in_ += static_cast<int64_t>(credits.size());
    for (const uint64_t credit : credits) {
      ASSERT_TRUE(out_.contains(credit));
      const auto environment = out_.at(credit).environment;
      if (environment_[environment].hangs) continue;
      Later(0.01 + Uniform(Below(8) == 0 ? 5.0 : 0.3),
            {.kind = Event::kAnswer,
             .environment = static_cast<int64_t>(environment),
             .credit = credit});
    }
  }

  // What a credit collected arrives, unless its rollout died meanwhile.
  void Deliver(const Event& event, bool empty) {
    Environment& environment = environment_[event.environment];
    if (environment.credit != event.credit) return;
    environment = {};
    const auto out = out_.find(event.credit);
    if (out == out_.end()) {
      // Refused, which may happen to nothing but revoked credits.
      EXPECT_TRUE(revoked_.contains(event.credit));
      EXPECT_FALSE(pacer_.MakeReady(event.credit));
      ++revoked_arrivals_;
      return;
    }
    if (empty) {
      EXPECT_TRUE(pacer_.Return(event.credit));
    } else {
      EXPECT_TRUE(pacer_.MakeReady(event.credit));
      ready_.insert(*out);
    }
    out_.erase(out);
  }

  void Publish() {
    published_ = step_;
    for (int i = 0; i < workers_; ++i) {
      Later(Uniform(Below(8) == 0 ? 20.0 : 0.2),
            {.kind = Event::kSwap, .worker = i, .version = published_});
    }
    learner_waits_ = true;
  }

  void Swap(const Event& event) {
    Worker& worker = worker_[event.worker];
    if (!worker.alive) return;
    worker.acting = std::max(worker.acting, event.version);
    Observe(worker.acting);
  }

  void Observe(int64_t version) {
    heard_ = std::max(heard_, version);
    pacer_.ObservePublished({version});
  }

  void Die(int index) {
    worker_[index].alive = false;
    for (int64_t i = index; i < environments_; i += workers_) {
      environment_[i] = {};
    }
    Later(Uniform(10.0), {.kind = Event::kReturn, .worker = index});
  }

  void ComeBack(int index) {
    for (const uint64_t credit : pacer_.ReturnAllOf(index)) {
      EXPECT_EQ(WorkerOf(static_cast<int64_t>(out_.at(credit).environment)),
                index);
      out_.erase(credit);
    }
    worker_[index] = {.acting = published_};
    Observe(published_);
    Later(Uniform(300.0), {.kind = Event::kDeath, .worker = index});
  }

  void GiveWhatMayBe() {
    std::vector<int64_t> asking;
    for (int64_t i = 0; i < environments_; ++i) {
      if (environment_[i].credit == 0 && worker_[WorkerOf(i)].alive) {
        asking.push_back(i);
      }
    }
    std::shuffle(asking.begin(), asking.end(), random_);
    for (const int64_t i : asking) GiveTo(i);
  }

  void GiveTo(int64_t environment) {
    const int worker = WorkerOf(environment);
    const int64_t version = worker_[worker].acting;
    const GiveDecision decision = pacer_.CanGive(environment, {version});
    const std::optional<Credit> credit =
        pacer_.TryGive(environment, worker, {version}, Now());
    EXPECT_EQ(credit.has_value(), decision == GiveDecision::kGive);
    if (Below(16) == 0) CheckDecision(decision, version);
    if (!credit.has_value()) return;
    EXPECT_EQ(credit->version.value, version);
    EXPECT_EQ(credit->deadline, version + lag_limit_);
    EXPECT_TRUE(out_.emplace(credit->id, *credit).second);
    EXPECT_LE(static_cast<int64_t>(out_.size() + ready_.size()),
              pacer_.backlog_limit());
    const bool straggles = Uniform(1.0) < straggler_share_;
    environment_[environment] = {
        .credit = credit->id,
        .hangs = may_revoke_ && straggles && Below(4) == 0};
    if (environment_[environment].hangs) return;
    Later((0.5 + Uniform(1.0)) * (straggles ? 50 : 1),
          {.kind = Event::kFinish,
           .environment = environment,
           .credit = credit->id});
  }

  // A refusal has its reason: the deadline, the feasibility test, or the
  // backlog (whose size is the pacer's to choose); at L = 0 also the quota.
  void CheckDecision(GiveDecision decision, int64_t version) {
    const int64_t deadline = version + lag_limit_;
    if (decision == GiveDecision::kGive || deadline < step_) return;
    if (decision == GiveDecision::kSwapFirst) {
      EXPECT_LT(version, step_);
      EXPECT_TRUE(FirstOverfull(step_ + lag_limit_) < 0);
    }
    const int64_t in_use = static_cast<int64_t>(out_.size() + ready_.size()) +
                           (step_ - heard_) * batch_;
    const bool backlog_may_be_full = in_use >= batch_;
    const bool quota = lag_limit_ == 0 && batch_ % environments_ == 0;
    EXPECT_TRUE(FirstOverfull(deadline) >= 0 || backlog_may_be_full || quota)
        << "version " << version << " waits for nothing";
  }

  // The first x at which m(x) would break the invariant with one credit more
  // for `deadline`; -1: none.
  int64_t FirstOverfull(int64_t deadline) const {
    for (int64_t x = deadline; x <= step_ + lag_limit_; ++x) {
      if (CountUpTo(x) + 1 > (x - step_ + 1) * batch_) return x;
    }
    return -1;
  }
  int64_t CountUpTo(int64_t x) const {
    const auto due = [x](const auto& entry) {
      return entry.second.deadline <= x;
    };
    return std::count_if(out_.begin(), out_.end(), due) +
           std::count_if(ready_.begin(), ready_.end(), due);
  }

  void AskForAList() {
    pacer_.ObserveTrainStep(step_, waited_share_);
    heard_ = step_;
    const Pacer::Start start = pacer_.TryStart(Now());
    CallIn(start.call_in);
    if (start.kind == Pacer::Start::Kind::kWait) return;
    ASSERT_EQ(static_cast<int64_t>(start.list.size()), batch_);
    int64_t latest_taken = 0;
    for (const Credit& credit : start.list) {
      ASSERT_EQ(ready_.erase(credit.id), 1u) << "credit was not ready";
      const int64_t lag = step_ - credit.version.value;
      EXPECT_GE(lag, 0);
      EXPECT_LE(lag, lag_limit_);
      max_lag_ = std::max(max_lag_, lag);
      latest_taken = std::max(latest_taken, credit.deadline);
    }
    for (const auto& [id, credit] : ready_) {
      EXPECT_GE(credit.deadline, latest_taken);
    }
    ++step_;
    learner_waits_ = false;
    const double duration = train_seconds_ * (0.5 + Uniform(1.0));
    waited_share_ =
        std::min(1.0, (now_ - trained_) / (now_ - trained_ + duration));
    trained_ = now_ + duration;
    Later(duration, {.kind = Event::kTrained});
  }

  void CheckBooks() {
    EXPECT_EQ(pacer_.next_step(), step_);
    EXPECT_EQ(pacer_.num_out(), out_.size());
    EXPECT_EQ(pacer_.num_ready(), ready_.size());
    std::map<int64_t, int64_t> counts;
    for (const auto& [id, credit] : out_) ++counts[credit.deadline];
    for (const auto& [id, credit] : ready_) ++counts[credit.deadline];
    int64_t m = 0;
    for (const auto& [x, count] : counts) {
      m += count;
      EXPECT_GE(x, step_) << "a credit is overdue";
      EXPECT_LE(m, (x - step_ + 1) * batch_) << "too many are due by " << x;
    }
  }

  std::mt19937_64 random_;
  const int64_t lag_limit_;
  const int64_t batch_;
  const int64_t environments_;
  const int workers_;
  const double straggler_share_;
  const bool may_revoke_;
  const bool may_die_;
  const double train_seconds_;

  Pacer pacer_;
  std::priority_queue<Event> events_;
  uint64_t num_events_ = 0;
  double now_ = 0;
  std::vector<Environment> environment_;
  std::vector<Worker> worker_;
  std::map<uint64_t, Credit> out_;
  std::map<uint64_t, Credit> ready_;
  std::set<uint64_t> revoked_;

  int64_t step_ = 0;
  int64_t published_ = 0;
  int64_t heard_ = 0;  // The newest version the pacer knows of.
  bool learner_waits_ = false;
  double trained_ = 0;
  double waited_share_ = 0;
  int64_t revoked_arrivals_ = 0;
  int64_t num_called_in_ = 0;
  int64_t max_lag_ = 0;
};

TEST(PacerSchedulesTest, KeepsEveryPromiseUnderRandomSchedules) {
  const uint64_t first = std::random_device()();
  int64_t called_in = 0;
  int64_t revoked_arrivals = 0;
  int64_t max_lag = 0;
  for (uint64_t seed = first; seed < first + kSchedules; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Schedule schedule(seed);
    ASSERT_TRUE(schedule.Run()) << "no progress, or a broken promise";
    called_in += schedule.num_called_in();
    revoked_arrivals += schedule.revoked_arrivals();
    max_lag = std::max(max_lag, schedule.max_lag());
  }
  // The schedules were wild enough to mean something.
  EXPECT_GT(called_in, 0);
  EXPECT_GT(revoked_arrivals, 0);
  EXPECT_EQ(max_lag, 8);
  RecordProperty("first_seed", std::to_string(first));
  std::cout << "first seed " << first << ", " << kSchedules * kTrainSteps
            << " train steps, " << called_in << " credits called in, "
            << revoked_arrivals << " arrived revoked, largest lag " << max_lag
            << std::endl;
}

}  // namespace
}  // namespace flywheel
