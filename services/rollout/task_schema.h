#pragma once

#include "services/core/job_spec.h"
#include "services/core/trajectory_schema.h"
#include "sim/task_spec.h"

namespace flywheel {

// The columns of every record of a job: what `task` shows and takes, and what
// training needs beside it. Observation columns come first, in the task's
// order, then the final observations in the same order.
TrajectorySchema TaskSchema(const TaskSpec& task, const PolicySpec& policy);

}  // namespace flywheel
