#pragma once

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace flywheel {

// `flywheel train`: starts an orchestrator in this process, submits the job to
// it as any client would, follows it to its end, and writes what the run
// leaves behind. Call it before any other thread is started.
ExitCode Train(const TrainOptions& options);

}  // namespace flywheel
