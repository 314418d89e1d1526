#pragma once

#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "services/orchestrator/observed_job.h"

namespace flywheel {

struct ReconcileLimits {
  // A member that has joined, and one that has yet to.
  absl::Duration silence = absl::Seconds(10);
  absl::Duration join = absl::Seconds(60);

  // From being asked to drain to being killed. In all under 10 s: the buffer
  // is asked once the others have ended.
  absl::Duration learner_drain = absl::Seconds(7);
  absl::Duration drain = absl::Seconds(2);

  // A slot that dies so often is not replaced again.
  int crashes_max = 20;
  absl::Duration crash_window = absl::Seconds(60);
  // Before the second of quick crashes in a row is replaced; doubled for each
  // further one. The first is replaced at once.
  absl::Duration backoff = absl::Milliseconds(100);
  absl::Duration backoff_max = absl::Seconds(1);

  // Processes that may fail at one evaluation, and seconds without an episode.
  int evaluation_failures_max = 3;
  absl::Duration evaluation_stall = absl::Seconds(300);
};

// What to do. The names are orders: whoever carries one out changes the
// ObservedJob accordingly.
struct StartProcess {
  Slot slot;
};
struct DrainProcess {
  Slot slot;
};
struct KillProcess {
  Slot slot;
  std::string reason;  // "silent for 10s"
};
struct ChangeState {
  JobState state;
  std::string message;
};
struct DecideEnding {
  JobEnding ending;
};
struct StartEvaluation {  // Or start a failed one again.
  std::string checkpoint;
  int episodes = 0;
  bool final = false;
};
struct GiveUpEvaluation {
  std::string message;
};
struct FinishJob {
  JobEnding ending;
};

using Action =
    std::variant<StartProcess, DrainProcess, KillProcess, ChangeState,
                 DecideEnding, StartEvaluation, GiveUpEvaluation, FinishJob>;

struct Plan {
  std::vector<Action> actions;
  // When the same observation may call for more; never without an event if
  // infinite.
  absl::Time wake = absl::InfiniteFuture();
};

// One step from what is towards what should be. Pure: looks at nothing but its
// arguments, changes nothing. Call it again after every event and after its
// actions were carried out, until it asks for nothing more.
//
// A running job has a process in every slot: the missing are started, the dead
// replaced, the silent killed. A job stops in order: learner and rollouts at
// once, the buffer after them. It has finished training once its learner says
// so; then comes the final evaluation.
Plan Reconcile(const ObservedJob& job, absl::Time now,
               const ReconcileLimits& limits);

}  // namespace flywheel
