#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "services/core/job_spec.h"

namespace flywheel {

enum class Role { kRollout, kBuffer, kLearner, kEvaluation };

// One life of one process.
struct Member {
  Role role = Role::kRollout;
  int index = 0;
  int64_t incarnation = 0;
  bool operator==(const Member&) const = default;
};

// What a process learns when it joins its job.
struct Assignment {
  JobSpec job;
  std::string run_folder;
  std::string buffer_endpoint;
  std::string policy_endpoint;
  double elapsed_seconds = 0;  // Of budget.seconds, used before this start.
};

// What each role reports; membership.proto says what the fields mean.
struct RolloutStatus {
  int64_t environment_steps = 0;
  int64_t episodes = 0;
  int64_t policy_version = -1;
  std::map<std::string, int64_t> drops;
  std::map<std::string, double> seconds_by_cause;
};

struct BufferStatus {
  int64_t credits_out = 0;
  int64_t credits_ready = 0;
  int64_t items = 0;
  int64_t bytes = 0;
  std::map<std::string, int64_t> drops;
  std::map<std::string, double> seconds_by_cause;
  int64_t train_step = 0;
  int64_t demonstrations = 0;
};

enum class LearnerPhase {
  kStarting,
  kCollecting,
  kImitating,
  kTraining,
  kFinished,
  kFailed,
};

struct LearnerStatus {
  LearnerPhase phase = LearnerPhase::kStarting;
  double progress = 0;
  int64_t train_steps = 0;
  int64_t environment_steps = 0;
  double seconds = 0;
  double episode_return_mean = std::numeric_limits<double>::quiet_NaN();
  double success_rate = std::numeric_limits<double>::quiet_NaN();
  int64_t episodes = 0;
  std::map<int64_t, int64_t> policy_lag_counts;
  std::map<std::string, double> seconds_by_cause;
  std::string newest_checkpoint;
  std::vector<std::string> evaluation_checkpoints;
  double loss = 0;
  std::string failure;
  int failure_exit_code = 0;  // What the failure would end the process with.
  bool interrupted = false;
  int64_t train_steps_repeated = 0;
};

struct EvaluationStatus {
  int64_t episodes = 0;
  int64_t episodes_total = 0;
};

using MemberStatus = std::variant<std::monostate, RolloutStatus, BufferStatus,
                                  LearnerStatus, EvaluationStatus>;

enum class Directive { kContinue, kDrain, kFenced };

}  // namespace flywheel
