#include "cli/validate_command.h"

#include <iostream>

#include "cli/load_job_codec.h"

namespace flywheel {

ExitCode Validate(const ValidateOptions& options) {
  const absl::StatusOr<LoadedJob> job =
      LoadJob(options.job_file, options.overrides);
  if (!job.ok()) {
    std::cerr << job.status().message() << '\n';
    return ExitCode::kUsage;
  }
  for (const std::string& warning : job->warnings) {
    std::cerr << "warning: " << warning << '\n';
  }
  std::cout << job->yaml << std::flush;
  return std::cout ? ExitCode::kDone : ExitCode::kTryAgain;
}

}  // namespace flywheel
