#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/core/job_status.h"
#include "services/core/member_status.h"
#include "services/orchestrator/process_end.h"
#include "services/orchestrator/slot.h"

namespace flywheel {

// What is known of one slot. A life begins with a start and ends with an exit.
struct ObservedSlot {
  Slot slot;

  // Of the present life; meaningless between lives.
  bool running = false;
  absl::Time started;
  absl::Time heard;  // Newest sign of life: start, registration, heartbeat.
  std::optional<absl::Time> joined;  // First heartbeat.
  std::optional<absl::Time> drain_asked;
  bool kill_sent = false;

  // Of the last life; nullopt until one has ended.
  std::optional<ProcessEnd> end;
  absl::Time ended;

  // Ends nobody had asked for, newest last.
  std::vector<absl::Time> crashes;
  // How many of the newest came before or right after joining.
  int quick_crashes = 0;
};

// An evaluation from its first process to its result.
struct ObservedEvaluation {
  std::string checkpoint;
  bool final = false;
  int failures = 0;       // Processes that ended without a result.
  absl::Time progressed;  // Newest start or finished episode.
  ObservedSlot process;
};

// What a job will be once everything has stopped.
struct JobEnding {
  JobState state = JobState::kFailed;
  std::string message;
  int exit_code = 0;  // Of the process that caused it; 0: none did.
};

// Everything Reconcile() decides by.
struct ObservedJob {
  JobState state = JobState::kPending;
  bool cancel_requested = false;
  std::optional<JobEnding> ending;

  std::vector<ObservedSlot> slots;  // Rollouts, buffers, learners.
  std::optional<LearnerStatus> learner;

  int final_episodes = 0;  // Of the final evaluation; 0: none.
  int training_episodes = 0;
  std::optional<ObservedEvaluation> evaluation;
  std::set<std::string> evaluated;  // Checkpoints done with, or given up.
  bool final_evaluation_done = false;
};

// The learner has used its budget and written its final checkpoint. One that
// was interrupted has not: it goes on.
inline bool TrainingFinished(const ObservedJob& job) {
  return job.learner && job.learner->phase == LearnerPhase::kFinished &&
         !job.learner->interrupted;
}

}  // namespace flywheel
