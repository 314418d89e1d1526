#include "services/core/job_status.h"

namespace flywheel {

std::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kPlacing:
      return "PLACING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kRecovering:
      return "RECOVERING";
    case JobState::kPausing:
      return "PAUSING";
    case JobState::kPaused:
      return "PAUSED";
    case JobState::kCancelling:
      return "CANCELLING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

std::string_view RoleName(Role role) {
  switch (role) {
    case Role::kRollout:
      return "rollout";
    case Role::kBuffer:
      return "buffer";
    case Role::kLearner:
      return "learner";
    case Role::kEvaluation:
      return "evaluation";
  }
  return "unknown";
}

}  // namespace flywheel
