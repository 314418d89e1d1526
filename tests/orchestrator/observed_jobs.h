#pragma once

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "services/orchestrator/observed_job.h"
#include "services/orchestrator/reconcile.h"

namespace flywheel {

inline constexpr Slot kBuffer{.role = Role::kBuffer};
inline constexpr Slot kLearner{.role = Role::kLearner};
inline constexpr Slot kRollout0{.role = Role::kRollout};
inline constexpr Slot kRollout1{.role = Role::kRollout, .index = 1};

// Seconds after an arbitrary start.
inline absl::Time At(double seconds) {
  return absl::FromUnixSeconds(1000) + absl::Seconds(seconds);
}

// A slot whose process joined at the start and was heard at `heard`.
inline ObservedSlot Joined(const Slot& slot, double heard = 0) {
  return {.slot = slot,
          .running = true,
          .started = At(0),
          .heard = At(heard),
          .joined = At(0)};
}

// A slot whose process ended at `ended`, unasked, `crashes` times so far.
inline ObservedSlot Ended(const Slot& slot, const ProcessEnd& end,
                          double ended = 0, int crashes = 1) {
  ObservedSlot observed{.slot = slot, .end = end, .ended = At(ended)};
  observed.crashes.assign(static_cast<std::size_t>(crashes), At(ended));
  observed.quick_crashes = crashes;
  return observed;
}

// Buffer, learner and two rollouts, all of them members.
inline ObservedJob RunningJob() {
  return {.state = JobState::kRunning,
          .slots = {Joined(kBuffer), Joined(kLearner), Joined(kRollout0),
                    Joined(kRollout1)},
          .learner = LearnerStatus{.phase = LearnerPhase::kTraining},
          .final_episodes = 10,
          .training_episodes = 5};
}

inline ObservedSlot& SlotOf(ObservedJob& job, const Slot& slot) {
  for (ObservedSlot& observed : job.slots) {
    if (observed.slot == slot) return observed;
  }
  return job.evaluation->process;
}

// An action as text: "start learner-0", "state RUNNING".
struct ActionText {
  std::string operator()(const StartProcess& a) {
    return "start " + SlotName(a.slot);
  }
  std::string operator()(const DrainProcess& a) {
    return "drain " + SlotName(a.slot);
  }
  std::string operator()(const KillProcess& a) {
    return "kill " + SlotName(a.slot) + ": " + a.reason;
  }
  std::string operator()(const ChangeState& a) {
    return absl::StrCat("state ", std::string(JobStateName(a.state)));
  }
  std::string operator()(const DecideEnding& a) {
    return absl::StrCat("end ", std::string(JobStateName(a.ending.state)), ": ",
                        a.ending.message);
  }
  std::string operator()(const StartEvaluation& a) {
    return absl::StrCat("evaluate ", a.checkpoint, " ", a.episodes,
                        a.final ? " final" : "");
  }
  std::string operator()(const GiveUpEvaluation& a) {
    return "give up: " + a.message;
  }
  std::string operator()(const FinishJob& a) {
    return absl::StrCat("finish ", std::string(JobStateName(a.ending.state)),
                        ": ", a.ending.message);
  }
};

inline std::vector<std::string> ActionsOf(const Plan& plan) {
  std::vector<std::string> texts;
  for (const Action& action : plan.actions) {
    texts.push_back(std::visit(ActionText(), action));
  }
  return texts;
}

inline std::vector<std::string> Actions(const ObservedJob& job,
                                        double now = 0.1) {
  return ActionsOf(Reconcile(job, At(now), {}));
}

}  // namespace flywheel
