#include "services/orchestrator/reconcile.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "services/core/exit_code.h"

namespace flywheel {
namespace {

constexpr int kExitServiceConfiguration = 78;  // sysexits.h: EX_CONFIG

// ": the last line of its log", if there is one.
std::string Hint(const ProcessEnd& end) {
  return end.last_log_line.empty() ? "" : absl::StrCat(": ", end.last_log_line);
}

// Builds the plan of one step.
class Planner {
 public:
  Planner(const ObservedJob& job, absl::Time now, const ReconcileLimits& limits)
      : job_(job), now_(now), limits_(limits) {}

  Plan Make() {
    if (IsFinal(job_.state)) {
      KillAll();
    } else if (job_.ending) {
      Stop(*job_.ending);
    } else if (job_.cancel_requested) {
      BeginCancelling();
    } else if (std::optional<JobEnding> failure = Failure()) {
      Do(DecideEnding{*std::move(failure)});
    } else if (TrainingFinished(job_)) {
      FinishTraining();
    } else {
      KeepRunning();
    }
    return std::move(plan_);
  }

 private:
  void Do(Action action) { plan_.actions.push_back(std::move(action)); }

  // True if `moment` has come; otherwise the plan wakes then.
  bool Due(absl::Time moment) {
    if (now_ >= moment) return true;
    plan_.wake = std::min(plan_.wake, moment);
    return false;
  }

  void Kill(const ObservedSlot& slot, std::string reason) {
    if (!slot.kill_sent) Do(KillProcess{slot.slot, std::move(reason)});
  }

  void KillAll() {
    for (const ObservedSlot& slot : job_.slots) {
      if (slot.running) Kill(slot, "the job has ended");
    }
    if (job_.evaluation && job_.evaluation->process.running) {
      Kill(job_.evaluation->process, "the job has ended");
    }
  }

  // --- Stopping ---------------------------------------------------------

  void BeginCancelling() {
    Do(ChangeState{JobState::kCancelling, "stopping in order"});
    Do(DecideEnding{{.state = JobState::kCancelled, .message = "cancelled"}});
  }

  void Stop(const JobEnding& ending) {
    bool stopped = DrainTraining();
    if (job_.evaluation && job_.evaluation->process.running) {
      Drain(job_.evaluation->process);
      stopped = false;
    }
    if (stopped) Do(FinishJob{ending});
  }

  // True once no slot has a process.
  bool DrainTraining() {
    bool others_running = false;
    for (const ObservedSlot& slot : job_.slots) {
      if (slot.slot.role == Role::kBuffer || !slot.running) continue;
      others_running = true;
      Drain(slot);
    }
    bool buffers_running = false;
    for (const ObservedSlot& slot : job_.slots) {
      if (slot.slot.role != Role::kBuffer || !slot.running) continue;
      buffers_running = true;
      // The others may be waiting for it to take what they collected.
      if (!others_running) Drain(slot);
    }
    return !others_running && !buffers_running;
  }

  void Drain(const ObservedSlot& slot) {
    if (!slot.drain_asked) {
      Do(DrainProcess{slot.slot});
      return;
    }
    const absl::Duration limit = slot.slot.role == Role::kLearner
                                     ? limits_.learner_drain
                                     : limits_.drain;
    if (Due(*slot.drain_asked + limit)) {
      Kill(slot,
           absl::StrCat("did not stop within ", absl::FormatDuration(limit)));
    }
  }

  // --- Failing ----------------------------------------------------------

  // Why the job cannot go on, if it cannot.
  std::optional<JobEnding> Failure() const {
    if (job_.learner && job_.learner->phase == LearnerPhase::kFailed) {
      return JobEnding{
          .message = absl::StrCat("learner-0 failed: ", job_.learner->failure),
          .exit_code = job_.learner->failure_exit_code};
    }
    if (TrainingFinished(job_)) return std::nullopt;  // No slot matters now.
    for (const ObservedSlot& slot : job_.slots) {
      if (slot.running || !slot.end) continue;
      if (auto failure = FailureOf(slot)) return failure;
    }
    return std::nullopt;
  }

  std::optional<JobEnding> FailureOf(const ObservedSlot& slot) const {
    const std::string name = SlotName(slot.slot);
    const ProcessEnd& end = *slot.end;
    if (end.never_started) {
      return JobEnding{
          .message = absl::StrCat(name, " could not be started", Hint(end))};
    }
    if (end.signal == 0 && (end.exit_code == kExitConfiguration ||
                            end.exit_code == kExitServiceConfiguration)) {
      return JobEnding{
          .message = absl::StrCat(name, " cannot run this job (",
                                  Description(end), ")", Hint(end)),
          .exit_code = end.exit_code};
    }
    const auto recent = std::count_if(
        slot.crashes.begin(), slot.crashes.end(),
        [&](absl::Time t) { return now_ - t <= limits_.crash_window; });
    if (recent >= limits_.crashes_max ||
        slot.quick_crashes >= limits_.crashes_max) {
      return JobEnding{
          .message = absl::StrCat(
              name, " ended ", std::max<int64_t>(recent, slot.quick_crashes),
              " times in a row, last with ", Description(end), Hint(end)),
          .exit_code = end.exit_code};
    }
    return std::nullopt;
  }

  // --- Running ----------------------------------------------------------

  void KeepRunning() {
    bool all_joined = true;
    const ObservedSlot* missing = nullptr;
    if (job_.state == JobState::kPending) {
      Do(ChangeState{JobState::kPlacing, "starting its processes"});
    }
    for (const ObservedSlot& slot : job_.slots) {
      if (!slot.running) {
        missing = &slot;
        StartWhenDue(slot);
      } else {
        Watch(slot);
      }
      all_joined = all_joined && slot.running && slot.joined;
    }
    if (all_joined && (job_.state == JobState::kPlacing ||
                       job_.state == JobState::kRecovering)) {
      Do(ChangeState{JobState::kRunning, ""});
    }
    if (missing != nullptr && job_.state == JobState::kRunning) {
      Do(ChangeState{JobState::kRecovering, RecoveryMessage(*missing)});
    }
    Evaluate();
  }

  static std::string RecoveryMessage(const ObservedSlot& slot) {
    return absl::StrCat("replacing ", SlotName(slot.slot),
                        slot.end ? absl::StrCat(" (", Description(*slot.end),
                                                ")", Hint(*slot.end))
                                 : "");
  }

  void StartWhenDue(const ObservedSlot& slot) {
    if (!slot.end || Due(slot.ended + Backoff(slot.quick_crashes))) {
      Do(StartProcess{slot.slot});
    }
  }

  absl::Duration Backoff(int quick_crashes) const {
    if (quick_crashes < 2) return absl::ZeroDuration();
    const int doublings = std::min(quick_crashes - 2, 30);
    return std::min(limits_.backoff * (int64_t{1} << doublings),
                    limits_.backoff_max);
  }

  // Kills a process that hangs: its end is then dealt with as any other.
  void Watch(const ObservedSlot& slot) {
    const absl::Duration limit = slot.joined ? limits_.silence : limits_.join;
    if (Due(slot.heard + limit)) {
      Kill(slot,
           absl::StrCat(slot.joined ? "silent for " : "not joined within ",
                        absl::FormatDuration(limit)));
    }
  }

  // --- Evaluating -------------------------------------------------------

  // During training: the newest checkpoint that is due; older ones that still
  // wait are skipped.
  void Evaluate() {
    if (job_.evaluation) {
      KeepEvaluating(*job_.evaluation);
      return;
    }
    if (!job_.learner || job_.learner->evaluation_checkpoints.empty()) return;
    const std::string& newest = job_.learner->evaluation_checkpoints.back();
    if (job_.evaluated.contains(newest)) return;
    Do(StartEvaluation{newest, job_.training_episodes, /*final=*/false});
  }

  void KeepEvaluating(const ObservedEvaluation& evaluation) {
    const ObservedSlot& process = evaluation.process;
    if (process.running) {
      Watch(process);
      if (Due(evaluation.progressed + limits_.evaluation_stall)) {
        Kill(process,
             absl::StrCat("no episode within ",
                          absl::FormatDuration(limits_.evaluation_stall)));
      }
      return;
    }
    if (evaluation.failures >= limits_.evaluation_failures_max) {
      GiveUp(evaluation);
    } else if (!process.end ||
               Due(process.ended + limits_.backoff * evaluation.failures)) {
      Do(StartEvaluation{
          evaluation.checkpoint,
          evaluation.final ? job_.final_episodes : job_.training_episodes,
          evaluation.final});
    }
  }

  void GiveUp(const ObservedEvaluation& evaluation) {
    const ProcessEnd end =
        evaluation.process.end.value_or(ProcessEnd{.never_started = true});
    std::string message = absl::StrCat(
        "evaluation of ", evaluation.checkpoint, " failed ",
        evaluation.failures, " times, last with ", Description(end), Hint(end));
    if (evaluation.final) {
      Do(DecideEnding{
          {.message = std::move(message), .exit_code = end.exit_code}});
    } else {
      Do(GiveUpEvaluation{std::move(message)});
    }
  }

  void FinishTraining() {
    const bool stopped = DrainTraining();
    if (job_.evaluation) {
      KeepEvaluating(*job_.evaluation);
      return;
    }
    if (!stopped) return;
    const std::string& newest = job_.learner->newest_checkpoint;
    if (job_.final_episodes > 0 && !job_.final_evaluation_done &&
        !newest.empty()) {
      Do(StartEvaluation{newest, job_.final_episodes, /*final=*/true});
      return;
    }
    Do(FinishJob{{.state = JobState::kSucceeded, .message = "budget reached"}});
  }

  const ObservedJob& job_;
  const absl::Time now_;
  const ReconcileLimits& limits_;
  Plan plan_;
};

}  // namespace

Plan Reconcile(const ObservedJob& job, absl::Time now,
               const ReconcileLimits& limits) {
  return Planner(job, now, limits).Make();
}

}  // namespace flywheel
