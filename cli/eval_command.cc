#include "cli/eval_command.h"

#include <poll.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "cli/evaluation_text.h"
#include "cli/interrupts.h"
#include "cli/likely_name.h"
#include "cli/run_folder.h"
#include "services/core/status_macros.h"
#include "services/orchestrator/child_process.h"
#include "services/orchestrator/evaluation_file.h"
#include "services/orchestrator/local_placement.h"
#include "services/orchestrator/log_tail.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Checkpoints(const fs::path& run) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(run / "checkpoints", error)) {
    const fs::path name = entry.path().filename();
    if (entry.is_directory(error) && name.extension() != ".partial") {
      names.push_back(name);
    }
  }
  return names;
}

absl::Status CheckRun(const EvalOptions& options) {
  const fs::path run = options.run_folder;
  FLYWHEEL_RETURN_IF_ERROR(CheckRunFolder(options.run_folder));
  const std::vector<std::string> names = Checkpoints(run);
  if (names.empty()) {
    return absl::NotFoundError(
        absl::StrCat(run.string(), ": no checkpoint yet"));
  }
  if (options.checkpoint.empty() ||
      std::find(names.begin(), names.end(), options.checkpoint) !=
          names.end()) {
    return absl::OkStatus();
  }
  const std::string likely = LikelyName(options.checkpoint, names);
  return absl::NotFoundError(absl::StrCat(
      (run / "checkpoints" / options.checkpoint).string(),
      ": no such checkpoint",
      likely.empty() ? "" : absl::StrCat("; did you mean ", likely, "?")));
}

// The files of one evaluation, called by its time.
struct EvaluationPaths {
  explicit EvaluationPaths(const fs::path& run) {
    const std::string name = absl::StrCat(
        "eval-",
        absl::FormatTime("%Y%m%d-%H%M%S", absl::Now(), absl::LocalTimeZone()),
        "-", getpid());
    result = run / "evaluations" / (name + ".json");
    log = run / "logs" / (name + ".log");
  }

  absl::Status Create() const {
    std::error_code error;
    for (const fs::path& path : {result, log}) {
      fs::create_directories(path.parent_path(), error);
      if (error) {
        return absl::UnavailableError(absl::StrCat("cannot make ",
                                                   path.parent_path().string(),
                                                   ": ", error.message()));
      }
    }
    return absl::OkStatus();
  }

  fs::path result;
  fs::path log;
};

ChildOptions EvaluationProcess(const EvalOptions& options,
                               const EvaluationPaths& paths) {
  ChildOptions child{
      .program = OwnProgramFolder() + "/flywheel-evaluate",
      .arguments = {"--run=" + fs::absolute(options.run_folder).string(),
                    "--output=" + fs::absolute(paths.result).string()},
      .log_path = paths.log};
  if (!options.checkpoint.empty()) {
    child.arguments.push_back("--checkpoint=" + options.checkpoint);
  }
  if (options.episodes) {
    child.arguments.push_back(absl::StrCat("--episodes=", *options.episodes));
  }
  return child;
}

// Waits for the process, which a signal to us stops.
absl::StatusOr<ProcessEnd> RunProcess(const ChildOptions& options,
                                      Interrupts& interrupts) {
  const absl::StatusOr<Child> child = StartChild(options);
  if (!child.ok()) return child.status();
  interrupts.Attend([&] { kill(child->pid, SIGTERM); },
                    [&] { kill(child->pid, SIGKILL); });
  pollfd ended{.fd = child->pidfd, .events = POLLIN};
  while (poll(&ended, 1, -1) < 0 && errno == EINTR) {
  }
  interrupts.Leave();
  const ProcessEnd end = ReapChild(*child);
  close(child->pidfd);
  return end;
}

ExitCode TellFailure(const ProcessEnd& end, const EvaluationPaths& paths) {
  std::cerr << "the evaluation failed (" << Description(end)
            << "): " << LastLogLine(paths.log, 0)
            << "\nlog: " << paths.log.string() << '\n';
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kTryAgain}) {
    if (end.exit_code == static_cast<int>(code)) return code;
  }
  return ExitCode::kFailed;
}

ExitCode Refuse(const absl::Status& status) {
  std::cerr << status.message() << '\n';
  return ExitCodeFor(status);
}

}  // namespace

ExitCode Eval(const EvalOptions& options) {
  Interrupts interrupts;  // Before any other thread.
  if (const absl::Status status = CheckRun(options); !status.ok()) {
    return Refuse(status);
  }
  const EvaluationPaths paths(options.run_folder);
  if (const absl::Status status = paths.Create(); !status.ok()) {
    return Refuse(status);
  }
  std::cerr << "evaluating " << options.run_folder << '\n';
  const absl::StatusOr<ProcessEnd> end =
      RunProcess(EvaluationProcess(options, paths), interrupts);
  if (!end.ok()) return Refuse(end.status());
  if (interrupts.signal() != 0) {
    std::cerr << "interrupted\n";
    return ExitCode::kInterrupted;
  }
  if (end->signal != 0 || end->exit_code != 0) return TellFailure(*end, paths);
  const absl::StatusOr<Evaluation> evaluation =
      ReadEvaluationFile(paths.result);
  if (!evaluation.ok()) return Refuse(evaluation.status());
  std::cout << EvaluationText(*evaluation) << std::flush;
  return ExitCode::kDone;
}

}  // namespace flywheel
