#include "services/wire/service_process.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>

#include "CLI/App.hpp"
#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "services/core/exit_code.h"
#include "services/core/job_status.h"
#include "services/wire/drain_guard.h"
#include "services/wire/launcher_pid.h"
#include "services/wire/socket_folder.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace flywheel {
namespace {

constexpr absl::Duration kDrainLimit = absl::Seconds(20);

using Work = std::function<absl::Status(ServiceContext&)>;

// The kernel sends SIGTERM when the launcher dies; one that died before that
// was asked for is found by its number.
void FollowParent() {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  const char* const launcher = std::getenv(kLauncherPidVariable);
  pid_t pid = 0;
  if (launcher != nullptr && absl::SimpleAtoi(launcher, &pid) &&
      pid != getppid()) {
    raise(SIGTERM);  // Blocked: waits for the DrainGuard.
  }
}

void LogToStderr() {
  auto logger = spdlog::stderr_logger_mt("flywheel");
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e [%l] %v");
  spdlog::set_default_logger(std::move(logger));
}

// Sets `options.member.index` and the rest. Nullopt: go on; else exit so.
std::optional<int> ParseFlags(int argc, char** argv,
                              std::span<const ServiceFlag> more_flags,
                              MembershipClient::Options& options) {
  CLI::App app("A service of Flywheel; the orchestrator starts it.");
  app.add_option("--orchestrator", options.orchestrator,
                 "where the orchestrator listens: unix:PATH or HOST:PORT")
      ->required();
  app.add_option("--job_id", options.job_id, "the job to join")->required();
  app.add_option("--index", options.member.index, "among its role's, from 0")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--incarnation", options.member.incarnation,
                 "names this life of the process; default: now, in us")
      ->check(CLI::PositiveNumber);
  for (const ServiceFlag& flag : more_flags) {
    app.add_option(flag.name, *flag.value, flag.meaning)->required();
  }
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    spdlog::error("{}", error.what());
    return kExitConfiguration;
  }
}

absl::Status RunWork(const Work& work, ServiceContext& context) try {
  return work(context);
} catch (const std::exception& error) {
  return absl::InternalError(
      absl::StrCat("unexpected exception: ", error.what()));
}

int ExitCodeFor(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kExitDone;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kFailedPrecondition:
      return kExitConfiguration;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kAborted:
      return kExitTryAgain;
    default:
      return kExitFailed;
  }
}

// The membership's end decides over the work's: work that was told to stop
// returns OK even where the process should be tried again.
int ExitCodeFor(const absl::Status& status,
                MembershipClient::EndReason end_reason) {
  switch (end_reason) {
    case MembershipClient::EndReason::kFenced:
      spdlog::error("fenced: a newer incarnation has this place");
      return kExitTryAgain;
    case MembershipClient::EndReason::kOrchestratorGone:
      spdlog::error("the orchestrator is gone");
      return kExitTryAgain;
    default:
      break;
  }
  if (!status.ok()) spdlog::error("{}", std::string(status.message()));
  return ExitCodeFor(status);
}

int Serve(MembershipClient::Options& options, const Work& work) {
  std::stop_source stop;
  const DrainGuard guard(stop, kDrainLimit);
  const std::string name = absl::StrCat(
      std::string(RoleName(options.member.role)), "-", options.member.index);
  const auto admin = AdminServer::Start(name);
  if (!admin.ok()) {
    spdlog::error("{}", std::string(admin.status().message()));
    return ExitCodeFor(admin.status());
  }
  options.admin_port = (*admin)->port();
  const auto membership = MembershipClient::Join(options, stop);
  if (!membership.ok()) {
    spdlog::error("{}", std::string(membership.status().message()));
    // Whatever it was, another orchestrator's answer may differ.
    return kExitTryAgain;
  }
  spdlog::info("{} joined job {}: incarnation {}, pid {}, admin port {}", name,
               options.job_id, options.member.incarnation, getpid(),
               options.admin_port);
  ServiceContext context{.assignment = (*membership)->assignment(),
                         .member = options.member,
                         .membership = **membership,
                         .admin = **admin,
                         .stop = stop.get_token()};
  const absl::Status status = RunWork(work, context);
  const int code = ExitCodeFor(status, (*membership)->end_reason());
  if (code == kExitDone) spdlog::info("done");
  return code;
}

// A killed launcher cannot remove its socket folder: its last service does.
void CleanUpAfterLauncher(absl::string_view orchestrator) {
  if (!absl::ConsumePrefix(&orchestrator, "unix:")) return;
  const std::string socket(orchestrator);
  if (SomebodyListens(socket)) return;
  RemoveDeadSockets(std::filesystem::path(socket).parent_path().string());
}

}  // namespace

int RunService(Role role, int argc, char** argv, const Work& work,
               std::span<const ServiceFlag> more_flags) {
  BlockServiceSignals();  // Before any thread starts.
  FollowParent();
  setpgid(0, 0);
  LogToStderr();
  MembershipClient::Options options;
  options.member = {.role = role,
                    .incarnation = absl::ToUnixMicros(absl::Now())};
  if (const std::optional<int> code =
          ParseFlags(argc, argv, more_flags, options)) {
    return *code;
  }
  const int code = Serve(options, work);
  CleanUpAfterLauncher(options.orchestrator);
  return code;
}

}  // namespace flywheel
