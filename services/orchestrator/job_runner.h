#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/job_status.h"
#include "services/core/member_status.h"
#include "services/orchestrator/observed_job.h"
#include "services/orchestrator/placement.h"
#include "services/orchestrator/reconcile.h"

namespace flywheel {

// What carrying out a plan means outside of the runner: everything that waits.
struct StopOrder {
  PlacedProcess process;
};
struct KillOrder {
  PlacedProcess process;
  std::string reason;
};
struct SaveOrder {};  // The job must be stored again.
using Order = std::variant<ProcessOrder, StopOrder, KillOrder, SaveOrder>;

// One job from PENDING to its end: hears what happens to its processes, asks
// Reconcile() what to do, and keeps the job's record up to date.
//
// Does nothing that waits: it hands out orders. Not thread-safe.
class JobRunner {
 public:
  struct Options {
    std::string orchestrator;  // Where services find it.
    std::string buffer_endpoint;
    std::string policy_endpoint;
    ReconcileLimits limits;
  };

  JobRunner(Job job, const Options& options);

  const Job& job() const { return job_; }
  const ObservedJob& observed() const { return observed_; }

  // What to do now; call again after every event, and at wake().
  std::vector<Order> Step(absl::Time now);
  absl::Time wake() const { return wake_; }

  // Events.

  // FailedPrecondition: fenced, or never placed; NotFound: no such slot. Again
  // with the same incarnation: the same answer.
  absl::StatusOr<Assignment> Register(const Member& member, absl::Time now);
  absl::StatusOr<Directive> HearFrom(const Member& member,
                                     const MemberStatus& status,
                                     absl::Time now);
  void ProcessEnded(const PlacedProcess& process, const ProcessEnd& end,
                    absl::Time now);
  // The evaluation process has ended; `result` is what it wrote.
  void EvaluationEnded(const PlacedProcess& process, const ProcessEnd& end,
                       const absl::StatusOr<Evaluation>& result,
                       absl::Time now);
  void Cancel();

  // Where the evaluation process that runs writes its result.
  std::string evaluation_path() const;

 private:
  struct Life {  // The newest of one slot.
    int64_t incarnation = 0;
    std::string kill_reason;
  };

  void CarryOut(const StartProcess& action, absl::Time now);
  void CarryOut(const DrainProcess& action, absl::Time now);
  void CarryOut(const KillProcess& action, absl::Time now);
  void CarryOut(const ChangeState& action, absl::Time now);
  void CarryOut(const DecideEnding& action, absl::Time now);
  void CarryOut(const StartEvaluation& action, absl::Time now);
  void CarryOut(const GiveUpEvaluation& action, absl::Time now);
  void CarryOut(const FinishJob& action, absl::Time now);

  ObservedSlot* Find(const Slot& slot);
  // The slot of a member that may speak for it.
  absl::StatusOr<ObservedSlot*> Admit(const Member& member);

  PlacedProcess NewLife(ObservedSlot& slot, absl::Time now);
  ProcessOrder OrderFor(const PlacedProcess& process) const;
  void EndLife(ObservedSlot& slot, const ProcessEnd& end, absl::Time now);
  void RecordRestart(const ObservedSlot& slot);  // Before its new life.
  bool IsCrash(const ObservedSlot& slot) const;

  void Apply(const Member& member, const RolloutStatus& status, absl::Time now);
  void Apply(const BufferStatus& status, absl::Time now);
  void Apply(const LearnerStatus& status, absl::Time now);
  void Apply(const EvaluationStatus& status, absl::Time now);

  Restart* OpenRestart(const Slot& slot);  // Not yet producing; may be null.
  void NoteProduction(const Slot& slot, absl::Time now);
  double ElapsedSeconds(absl::Time now) const;
  void Save() { save_ = true; }

  // Constant after construction.
  const Options options_;

  Job job_;
  ObservedJob observed_;
  std::map<Slot, Life> lives_;
  std::vector<Order> orders_;  // Of the step that is being taken.
  bool save_ = false;
  absl::Time wake_ = absl::InfinitePast();

  absl::Time learner_heard_;              // When job_.learner was reported.
  int64_t train_steps_before_death_ = 0;  // Of the learner.
  int64_t train_steps_at_buffer_death_ = 0;
  bool learner_resumed_ = true;  // Reported since its last start.
};

}  // namespace flywheel
