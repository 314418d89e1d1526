#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "services/core/job_spec.h"
#include "services/rollout/acting_policy.h"
#include "sim/task_spec.h"

namespace flywheel {

// Acts with the job's network on what the task shows. Returns InvalidArgument
// if the network cannot see it.
absl::StatusOr<std::unique_ptr<ActingPolicy>> MakeNetworkPolicy(
    const TaskSpec& task, const PolicySpec& spec);

}  // namespace flywheel
