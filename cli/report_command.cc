#include "cli/report_command.h"

#include <filesystem>
#include <iostream>

#include "cli/run_records.h"

namespace flywheel {

ExitCode Report(const ReportOptions& options) {
  const absl::Status status = RewriteReport(options.run_folder);
  if (!status.ok()) {
    std::cerr << status.message() << '\n';
    return ExitCodeFor(status);
  }
  const auto report = std::filesystem::path(options.run_folder) / "report.html";
  std::cout << report.string() << '\n';
  return ExitCode::kDone;
}

}  // namespace flywheel
