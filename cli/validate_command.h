#pragma once

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace flywheel {

// `flywheel validate`: prints the resolved job, or what is wrong with it.
ExitCode Validate(const ValidateOptions& options);

}  // namespace flywheel
