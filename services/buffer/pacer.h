#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/buffer/backlog_limit.h"
#include "services/buffer/overdue_limits.h"
#include "services/core/credit.h"
#include "services/core/policy_version.h"

namespace flywheel {

enum class GiveDecision {
  kGive,
  kWait,
  kSwapFirst,  // With a newer version it would be given.
};

// What becomes of a credit that is out too long while the learner waits.
enum class Overdue { kCallIn, kWait };

// A training credit that is out.
struct CreditOut {
  Credit credit;
  uint64_t worker = 0;
  absl::Time given;
  int64_t given_at_step = 0;            // The next train step back then.
  std::optional<absl::Time> called_in;  // When, if it was.
};

// Gives the training credits of one job and makes the lists of its train steps,
// so that no trajectory is ever trained on with a policy lag above
// max_policy_lag, whatever finishes when: earliest deadline first, with its
// feasibility test.
//
// Let w be the next train step, B batch_credits, L max_policy_lag. A credit for
// version b has the deadline d = b + L: the last train step that may use it.
// m(x) counts the credits out or ready with a deadline <= x. The invariant:
// every deadline is >= w, and m(x) <= (x - w + 1) * B for every x >= w.
//
// 1. Give: if d >= w and the invariant holds with the new one.
// 2. Take: step w takes the B ready ones with the earliest deadlines.
// 3. Call in: where what step w leaves would break the invariant of step w + 1,
//    the credits out with the earliest deadlines are called in first; those due
//    one step later ahead of time, once they were out for a whole train step.
// 4. Revoke: while the learner waits, credits out too long are called in, and
//    those that do not answer are revoked.
// 5. Backlog: giving also stops at BacklogLimit.
//
// Life of a credit: Give() -> out -> MakeReady() -> ready -> a list; or out ->
// Return(). At L = 0, where B is a multiple of the environments, each of those
// gets equally many credits of a version, so that the list of a step does not
// depend on which request came first.
//
// A pure state machine: no clock, no sockets. Not thread-safe.
class Pacer {
 public:
  struct Options {
    int64_t max_policy_lag = 4;  // In train steps.
    int64_t batch_credits = 16;
    int64_t environments = 16;  // Of the whole job.
    Overdue overdue = Overdue::kCallIn;
    OverdueLimits::Options overdue_limits;
  };

  // What TryStart() decided. If kWait, credits to call in may come with it; if
  // kList, those called in ahead of the next step.
  struct Start {
    enum class Kind { kList, kWait };
    Kind kind = Kind::kWait;
    std::vector<Credit> list;  // Exactly batch_credits.
    std::vector<uint64_t> call_in;
  };

  // Credits, by id.
  struct OverdueCredits {
    std::vector<uint64_t> call_in;
    std::vector<uint64_t> revoked;  // Returned already.
  };

  // REQUIRES: max_policy_lag >= 0, batch_credits >= 1, environments >= 1.
  explicit Pacer(const Options& options);

  // w: no list exists for it yet.
  int64_t next_step() const { return next_step_; }

  // Whether an environment whose rollout acts with `version` may have a credit.
  GiveDecision CanGive(uint64_t environment, PolicyVersion version) const;

  // Gives what CanGive() allows; nullopt if it does not.
  std::optional<Credit> TryGive(uint64_t environment, uint64_t worker,
                                PolicyVersion version, absl::Time now);

  // The credit's trajectories are here. False, changing nothing, if it is not
  // out.
  bool MakeReady(uint64_t credit);

  // The credit comes back unused. False, changing nothing, if it is not out.
  bool Return(uint64_t credit);

  // All credits `worker` has out come back; returns their ids.
  std::vector<uint64_t> ReturnAllOf(uint64_t worker);

  // The learner asks for the list of step next_step(). Where it must wait, ask
  // again after every event.
  Start TryStart(absl::Time now);

  // Credits that rule 4 calls in or revokes now.
  OverdueCredits FindOverdue(absl::Time now);

  // Starts over at `step`: lists before it were made by another buffer, or are
  // void. Returns the credits that were out and those that were ready; neither
  // exist any more.
  struct Voided {
    std::vector<CreditOut> out;
    std::vector<Credit> ready;
  };
  Voided JumpTo(int64_t step);

  // Nullptr if it is not out. Valid until the next change.
  const CreditOut* FindOut(uint64_t credit) const;

  // `version` can be acted with: training of the step before it has ended.
  void ObservePublished(PolicyVersion version);

  // Of the wall time of the train step before `step`, the share that went by
  // until its data was there. Each step counts once.
  void ObserveTrainStep(int64_t step, double waited_share);

  // A trajectory took so long, nobody having called it in.
  void ObserveTrajectory(absl::Duration duration, int64_t num_chunks);

  // A rollout can answer a call-in after so long.
  void ObserveAnswer(absl::Duration duration);

  // An id no training credit has or will have: for other kinds of credits.
  uint64_t NextCreditId() { return ++last_id_; }

  std::size_t num_out() const { return out_.size(); }
  std::size_t num_ready() const { return ready_.size(); }
  bool learner_waits() const { return learner_waits_; }
  int64_t backlog_limit() const { return backlog_.limit(); }

 private:
  using ByDeadline = std::pair<int64_t, uint64_t>;  // Then by age.

  // Credits with one deadline.
  struct Count {
    int64_t out = 0;
    int64_t ready = 0;
  };

  GiveDecision ByDeadlines(uint64_t environment, PolicyVersion version) const;
  bool Feasible(int64_t deadline) const;
  bool BacklogFull() const;
  bool QuotaUsed(uint64_t environment) const;
  int64_t InTraining() const;
  int64_t NumMissing() const;
  std::vector<Credit> TakeEarliest();
  std::vector<uint64_t> CallInEarliest(int64_t count, absl::Time now);
  std::vector<uint64_t> CallInAhead(absl::Time now);
  CreditOut RemoveOut(std::map<uint64_t, CreditOut>::iterator out);
  void Forget(int64_t deadline, int64_t Count::*state);

  // Constant after construction.
  const Options options_;
  const int64_t quota_;  // Credits per environment and version; 0: no limit.

  int64_t next_step_ = 0;
  int64_t first_step_ = 0;  // Where this pacer began.
  int64_t published_ = 0;   // The newest version known to exist.
  uint64_t last_id_ = 0;
  uint64_t num_made_ready_ = 0;
  bool learner_waits_ = false;
  bool list_waited_ = false;         // The list of next_step() was asked for.
  bool newest_list_waited_ = false;  // The one before could not be had at once.
  int64_t observed_step_ = 0;        // ObserveTrainStep() needs no older ones.

  std::map<uint64_t, CreditOut> out_;  // By id.
  std::set<ByDeadline> out_by_deadline_;
  std::map<ByDeadline, Credit> ready_;  // Of one deadline in order of arrival.
  std::map<int64_t, Count> counts_;     // By deadline.
  std::map<uint64_t, int64_t> used_quota_;  // Of this version, by environment.

  BacklogLimit backlog_;
  OverdueLimits overdue_;
};

}  // namespace flywheel
