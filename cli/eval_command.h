#pragma once

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace flywheel {

// `flywheel eval`: plays episodes with a checkpoint of a run in a process of
// its own, and prints how they went. Call it before any other thread is
// started.
ExitCode Eval(const EvalOptions& options);

}  // namespace flywheel
