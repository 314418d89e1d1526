#pragma once

#include "cli/command_line.h"
#include "cli/exit_code.h"

namespace flywheel {

// `flywheel report`: writes report.html again and prints its path.
ExitCode Report(const ReportOptions& options);

}  // namespace flywheel
