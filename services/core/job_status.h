#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "services/core/job_spec.h"
#include "services/core/member_status.h"

namespace flywheel {

// A job as the orchestrator knows it: jobs.proto, checked. What the fields mean
// stands there.

enum class JobState {
  kPending,
  kPlacing,
  kRunning,
  kRecovering,
  kPausing,
  kPaused,
  kCancelling,
  kSucceeded,
  kFailed,
  kCancelled,
};

// Nothing follows a final state.
constexpr bool IsFinal(JobState state) {
  return state == JobState::kSucceeded || state == JobState::kFailed ||
         state == JobState::kCancelled;
}

std::string_view JobStateName(JobState state);  // "RUNNING"
std::string_view RoleName(Role role);           // "rollout"

// The result of one evaluation.
struct Evaluation {
  std::string checkpoint;  // Folder name under checkpoints/.
  int64_t policy_version = 0;
  int64_t environment_steps = 0;
  int64_t episodes = 0;
  double episode_return_mean = 0;
  double episode_return_std = 0;
  double success_rate = std::numeric_limits<double>::quiet_NaN();
  bool final = false;
  double seconds_trained = 0;
};

// One process that was replaced.
struct Restart {
  Role role = Role::kRollout;
  int index = 0;
  absl::Time died;                      // Exit seen.
  std::optional<absl::Time> rejoined;   // Registered again.
  std::optional<absl::Time> producing;  // First progress after it.
  std::string reason;
  int64_t train_steps_lost = 0;  // Learner only.
};

struct Job {
  std::string job_id;
  JobSpec spec;
  JobState state = JobState::kPending;
  std::string message;   // Why it is in this state, for people.
  int64_t revision = 0;  // Grows with every change of anything here.
  absl::Time created;
  std::optional<absl::Time> running;   // When it first reached RUNNING.
  std::optional<absl::Time> finished;  // When it reached a final state.
  std::string run_folder;
  std::optional<LearnerStatus> learner;
  std::vector<RolloutStatus> rollouts;  // By index.
  std::optional<BufferStatus> buffer;
  std::map<std::string, int64_t> restarts;     // Processes replaced, by role.
  std::vector<Evaluation> evaluations;         // Oldest first.
  std::optional<EvaluationStatus> evaluation;  // The one that is running.
  int exit_code = 0;  // Of the process that ended the job; 0: none did.
  std::vector<Restart> recoveries;  // The newest 1,000, oldest first.
};

}  // namespace flywheel
