#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "services/core/job_status.h"

namespace flywheel {

// Reads what an evaluation process wrote: an object with policy_version,
// environment_steps, seconds_trained, episodes, episode_return_mean,
// episode_return_std, and success_rate, which is null if the task has none.
// DataLoss, naming the file and the field, if it is anything else. `checkpoint`
// and `final` are left to the caller.
absl::StatusOr<Evaluation> ReadEvaluationFile(const std::string& path);

}  // namespace flywheel
