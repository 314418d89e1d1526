#pragma once

#include "absl/status/status.h"
#include "services/core/job_spec.h"

namespace flywheel {

// InvalidArgument, beginning with the path of the field, if the job's task is
// unknown or the job asks of it what it does not have.
absl::Status CheckTask(const JobSpec& job);

}  // namespace flywheel
