#pragma once

#include "absl/status/status.h"

namespace flywheel {

// How `flywheel` ends: part of its contract with scripts.
enum class ExitCode {
  kDone = 0,
  kFailed = 1,         // The job failed.
  kUsage = 64,         // Bad usage or configuration: the same call fails again.
  kTryAgain = 75,      // Worth trying again.
  kInterrupted = 130,  // By a signal, in order.
};

// For a call that could not be carried out.
inline ExitCode ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kUsage;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kTryAgain;
    default:
      return ExitCode::kFailed;
  }
}

}  // namespace flywheel
