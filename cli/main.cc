#include <csignal>
#include <iostream>
#include <variant>
#include <vector>

#include "cli/command_line.h"
#include "cli/eval_command.h"
#include "cli/exit_code.h"
#include "cli/report_command.h"
#include "cli/train_command.h"
#include "cli/validate_command.h"
#include "cli/version.h"

namespace flywheel {
namespace {

ExitCode PrintVersion() {
  std::cout << "flywheel " << Versions()["flywheel"] << '\n';
  for (const auto& [what, version] : Versions()) {
    if (what != "flywheel") std::cout << what << ": " << version << '\n';
  }
  return ExitCode::kDone;
}

ExitCode PrintHelp(const HelpOptions& help) {
  std::cout << help.text;
  return ExitCode::kDone;
}

struct Run {
  ExitCode operator()(const TrainOptions& options) const {
    return Train(options);
  }
  ExitCode operator()(const EvalOptions& options) const {
    return Eval(options);
  }
  ExitCode operator()(const ValidateOptions& options) const {
    return Validate(options);
  }
  ExitCode operator()(const ReportOptions& options) const {
    return Report(options);
  }
  ExitCode operator()(const VersionOptions&) const { return PrintVersion(); }
  ExitCode operator()(const HelpOptions& options) const {
    return PrintHelp(options);
  }
};

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  // Whoever reads our output may stop reading: the run goes on.
  std::signal(SIGPIPE, SIG_IGN);
  const auto command = flywheel::ParseCommandLine(
      std::vector<std::string>(argv + 1, argv + argc));
  if (!command.ok()) {
    std::cerr << command.status().message() << '\n';
    return static_cast<int>(flywheel::ExitCode::kUsage);
  }
  return static_cast<int>(std::visit(flywheel::Run(), *command));
}
