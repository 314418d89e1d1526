#include "services/buffer/pacer.h"

#include <algorithm>
#include <utility>

namespace flywheel {

Pacer::Pacer(const Options& options)
    : options_(options),
      quota_(options.max_policy_lag == 0 &&
                     options.batch_credits % options.environments == 0
                 ? options.batch_credits / options.environments
                 : 0),
      backlog_(options.batch_credits, options.max_policy_lag),
      overdue_(options.overdue_limits) {}

GiveDecision Pacer::CanGive(uint64_t environment, PolicyVersion version) const {
  const GiveDecision decision = ByDeadlines(environment, version);
  return BacklogFull() ? GiveDecision::kWait : decision;
}

std::optional<Credit> Pacer::TryGive(uint64_t environment, uint64_t worker,
                                     PolicyVersion version, absl::Time now) {
  if (ByDeadlines(environment, version) != GiveDecision::kGive) {
    return std::nullopt;
  }
  if (BacklogFull()) {
    backlog_.NoteRefused();
    return std::nullopt;
  }
  // After a rollback a rollout may act with a version that does not exist any
  // more; its credit is then for the present one.
  const int64_t behavior = std::min(version.value, next_step_);
  const Credit credit = {.id = NextCreditId(),
                         .environment = environment,
                         .kind = CreditKind::kTraining,
                         .version = {behavior},
                         .deadline = behavior + options_.max_policy_lag};
  out_.emplace(credit.id, CreditOut{.credit = credit,
                                    .worker = worker,
                                    .given = now,
                                    .given_at_step = next_step_});
  out_by_deadline_.emplace(credit.deadline, credit.id);
  ++counts_[credit.deadline].out;
  if (quota_ > 0) ++used_quota_[environment];
  return credit;
}

bool Pacer::MakeReady(uint64_t credit) {
  const auto found = out_.find(credit);
  if (found == out_.end()) return false;
  const Credit ready = RemoveOut(found).credit;
  ready_.emplace(ByDeadline{ready.deadline, ++num_made_ready_}, ready);
  ++counts_[ready.deadline].ready;
  return true;
}

bool Pacer::Return(uint64_t credit) {
  const auto found = out_.find(credit);
  if (found == out_.end()) return false;
  const CreditOut returned = RemoveOut(found);
  if (quota_ > 0) --used_quota_[returned.credit.environment];
  return true;
}

std::vector<uint64_t> Pacer::ReturnAllOf(uint64_t worker) {
  std::vector<uint64_t> returned;
  for (const auto& [id, out] : out_) {
    if (out.worker == worker) returned.push_back(id);
  }
  for (const uint64_t id : returned) Return(id);
  return returned;
}

Pacer::Start Pacer::TryStart(absl::Time now) {
  learner_waits_ = true;
  published_ = next_step_;  // It has trained all steps before.
  const bool enough =
      static_cast<int64_t>(ready_.size()) >= options_.batch_credits;
  const int64_t missing = enough ? NumMissing() : 0;
  if (!enough || missing > 0) {
    list_waited_ = true;
    return {.kind = Start::Kind::kWait,
            .call_in = CallInEarliest(missing, now)};
  }
  learner_waits_ = false;
  newest_list_waited_ = std::exchange(list_waited_, false);
  Start start = {.kind = Start::Kind::kList, .list = TakeEarliest()};
  ++next_step_;
  used_quota_.clear();
  start.call_in = CallInAhead(now);
  return start;
}

Pacer::OverdueCredits Pacer::FindOverdue(absl::Time now) {
  OverdueCredits overdue;
  if (!learner_waits_ || options_.overdue == Overdue::kWait) return overdue;
  const absl::Duration credit_deadline = overdue_.CreditDeadline();
  const absl::Duration answer_deadline = overdue_.AnswerDeadline();
  for (auto& [id, out] : out_) {
    if (!out.called_in.has_value()) {
      if (now - out.given < credit_deadline) continue;
      out.called_in = now;
      overdue.call_in.push_back(id);
    } else if (now - *out.called_in >= answer_deadline) {
      overdue.revoked.push_back(id);
    }
  }
  for (const uint64_t id : overdue.revoked) Return(id);
  return overdue;
}

Pacer::Voided Pacer::JumpTo(int64_t step) {
  Voided voided;
  for (const auto& [id, out] : out_) voided.out.push_back(out);
  for (const auto& [order, credit] : ready_) voided.ready.push_back(credit);
  out_.clear();
  out_by_deadline_.clear();
  ready_.clear();
  counts_.clear();
  used_quota_.clear();
  next_step_ = step;
  first_step_ = step;
  published_ = step;
  learner_waits_ = false;
  list_waited_ = false;
  observed_step_ = step;
  return voided;
}

const CreditOut* Pacer::FindOut(uint64_t credit) const {
  const auto found = out_.find(credit);
  return found == out_.end() ? nullptr : &found->second;
}

void Pacer::ObservePublished(PolicyVersion version) {
  published_ = std::max(published_, std::min(version.value, next_step_));
}

void Pacer::ObserveTrainStep(int64_t step, double waited_share) {
  if (step <= observed_step_) return;
  observed_step_ = step;
  // A list that was there when it was asked for: more credits could not have
  // brought it sooner.
  backlog_.ObserveTrainStep(newest_list_waited_ ? waited_share : 0);
}

void Pacer::ObserveTrajectory(absl::Duration duration, int64_t num_chunks) {
  overdue_.ObserveTrajectory(duration, num_chunks);
}

void Pacer::ObserveAnswer(absl::Duration duration) {
  overdue_.ObserveAnswer(duration);
}

// Rule 1, and the quota, without regard to the backlog.
GiveDecision Pacer::ByDeadlines(uint64_t environment,
                                PolicyVersion version) const {
  if (QuotaUsed(environment)) return GiveDecision::kWait;
  const int64_t newest_deadline = next_step_ + options_.max_policy_lag;
  const int64_t deadline =
      std::min(version.value + options_.max_policy_lag, newest_deadline);
  if (deadline >= next_step_ && Feasible(deadline)) return GiveDecision::kGive;
  return deadline < newest_deadline && Feasible(newest_deadline)
             ? GiveDecision::kSwapFirst
             : GiveDecision::kWait;
}

// For one more credit: m(x) + 1 <= (x - w + 1) * B for every x >=
// deadline. m only changes at the deadlines there are, so those are enough.
bool Pacer::Feasible(int64_t deadline) const {
  const auto fits = [&](int64_t x, int64_t m) {
    return m + 1 <= (x - next_step_ + 1) * options_.batch_credits;
  };
  int64_t m = 0;
  auto at = counts_.begin();
  for (; at != counts_.end() && at->first <= deadline; ++at) {
    m += at->second.out + at->second.ready;
  }
  if (!fits(deadline, m)) return false;
  for (; at != counts_.end(); ++at) {
    m += at->second.out + at->second.ready;
    if (!fits(at->first, m)) return false;
  }
  return true;
}

bool Pacer::BacklogFull() const {
  return static_cast<int64_t>(out_.size() + ready_.size()) + InTraining() >=
         backlog_.limit();
}

bool Pacer::QuotaUsed(uint64_t environment) const {
  if (quota_ == 0) return false;
  const auto used = used_quota_.find(environment);
  return used != used_quota_.end() && used->second >= quota_;
}

// Credits in lists whose training nobody has seen the end of. Version n exists
// once step n - 1 was trained.
int64_t Pacer::InTraining() const {
  return (next_step_ - std::max(first_step_, published_)) *
         options_.batch_credits;
}

// Rule 3: how many credits that are out must come in before step w may start.
// What it leaves, m(x) less those it takes, may be at most (x - w) * B.
int64_t Pacer::NumMissing() const {
  int64_t missing = 0;
  int64_t out = 0;
  int64_t ready = 0;
  for (const auto& [x, count] : counts_) {
    out += count.out;
    ready += count.ready;
    const int64_t left = out + ready - std::min(ready, options_.batch_credits);
    missing =
        std::max(missing, left - (x - next_step_) * options_.batch_credits);
  }
  return missing;
}

std::vector<Credit> Pacer::TakeEarliest() {
  std::vector<Credit> taken;
  for (int64_t i = 0; i < options_.batch_credits; ++i) {
    const auto earliest = ready_.begin();
    taken.push_back(earliest->second);
    Forget(earliest->second.deadline, &Count::ready);
    ready_.erase(earliest);
  }
  return taken;
}

std::vector<uint64_t> Pacer::CallInEarliest(int64_t count, absl::Time now) {
  std::vector<uint64_t> called_in;
  for (const auto& [deadline, id] : out_by_deadline_) {
    if (count-- == 0) break;
    CreditOut& out = out_.at(id);
    if (out.called_in.has_value()) continue;
    out.called_in = now;
    called_in.push_back(id);
  }
  return called_in;
}

// Those due at the next step. One that was given less than a train step ago is
// spared: it may well be done in time, and would be cut near its start.
std::vector<uint64_t> Pacer::CallInAhead(absl::Time now) {
  std::vector<uint64_t> called_in;
  for (const auto& [deadline, id] : out_by_deadline_) {
    if (deadline > next_step_) break;
    CreditOut& out = out_.at(id);
    if (out.called_in.has_value() || out.given_at_step >= next_step_ - 1) {
      continue;
    }
    out.called_in = now;
    called_in.push_back(id);
  }
  return called_in;
}

CreditOut Pacer::RemoveOut(std::map<uint64_t, CreditOut>::iterator out) {
  const CreditOut removed = out->second;
  out_by_deadline_.erase({removed.credit.deadline, removed.credit.id});
  Forget(removed.credit.deadline, &Count::out);
  out_.erase(out);
  return removed;
}

void Pacer::Forget(int64_t deadline, int64_t Count::*state) {
  const auto count = counts_.find(deadline);
  --(count->second.*state);
  if (count->second.out == 0 && count->second.ready == 0) counts_.erase(count);
}

}  // namespace flywheel
