#include "services/orchestrator/embedded_orchestrator.h"

#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/clock.h"
#include "services/core/status_macros.h"
#include "services/orchestrator/control_service.h"
#include "services/orchestrator/local_placement.h"
#include "services/orchestrator/run_folder.h"
#include "services/wire/socket_folder.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/basic_file_sink.h"

namespace flywheel {
namespace {

constexpr absl::Duration kShutdownLimit = absl::Seconds(10);

// One line per event; the terminal belongs to the command line.
absl::StatusOr<std::unique_ptr<spdlog::logger>> OpenLog(
    const std::string& path) try {
  auto log = std::make_unique<spdlog::logger>(
      "orchestrator",
      std::make_shared<spdlog::sinks::basic_file_sink_mt>(path));
  log->set_pattern("%Y-%m-%dT%H:%M:%S.%e [%l] %v");
  log->flush_on(spdlog::level::info);
  return log;
} catch (const spdlog::spdlog_ex& error) {
  return absl::UnavailableError(error.what());
}

class EmbeddedOrchestratorImpl final : public EmbeddedOrchestrator {
 public:
  EmbeddedOrchestratorImpl(RunFolderLock lock, SocketFolder sockets,
                           std::unique_ptr<spdlog::logger> log,
                           std::unique_ptr<JobStore> store)
      : lock_(std::move(lock)),
        sockets_(std::move(sockets)),
        target_("unix:" + sockets_->Path("orchestrator.sock")),
        log_(std::move(log)),
        store_(std::move(store)) {}

  ~EmbeddedOrchestratorImpl() override { Shutdown(kShutdownLimit); }

  absl::Status Serve(const Options& options) {
    orchestrator_ = std::make_unique<Orchestrator>(
        Orchestrator::Options{.address = target_,
                              .socket_folder = sockets_->path(),
                              .runs_folder = options.run_folder},
        *store_,
        std::make_unique<LocalPlacement>(LocalPlacement::Options{
            .program_folder = options.program_folder.empty()
                                  ? OwnProgramFolder()
                                  : options.program_folder,
            .inherited_fd = lock_.descriptor()}),
        clock_, *log_);
    FLYWHEEL_RETURN_IF_ERROR(orchestrator_->Load());
    auto server = ControlService::Start(*orchestrator_, target_);
    if (!server.ok()) return server.status();
    server_ = *std::move(server);
    return absl::OkStatus();
  }

  const std::string& target() const override { return target_; }

  void Shutdown(absl::Duration limit) override {
    const std::lock_guard<std::mutex> once(shutdown_);
    if (orchestrator_ == nullptr) return;
    if (!orchestrator_->CancelAll(limit)) {
      log_->error("jobs did not end within {}: ending their processes",
                  absl::FormatDuration(limit));
    }
    server_.reset();
    orchestrator_.reset();  // And with it every process.
    sockets_.reset();
  }

 private:
  std::mutex shutdown_;  // Held while shutting down: a second caller waits.
  const MonotonicClock clock_;
  RunFolderLock lock_;
  std::optional<SocketFolder> sockets_;
  const std::string target_;
  std::unique_ptr<spdlog::logger> log_;
  std::unique_ptr<JobStore> store_;
  std::unique_ptr<Orchestrator> orchestrator_;
  std::unique_ptr<ControlService> server_;  // Calls into the orchestrator.
};

}  // namespace

absl::StatusOr<std::unique_ptr<EmbeddedOrchestrator>>
EmbeddedOrchestrator::Start(const Options& options) {
  FLYWHEEL_RETURN_IF_ERROR(CreateRunFolder(options.run_folder));
  absl::StatusOr<RunFolderLock> lock =
      RunFolderLock::Acquire(options.run_folder, options.lock_limit);
  if (!lock.ok()) return lock.status();
  auto log = OpenLog(options.run_folder + "/logs/orchestrator.log");
  if (!log.ok()) return log.status();
  auto store = JobStore::Open(options.run_folder + "/orchestrator.db");
  if (!store.ok()) return store.status();
  absl::StatusOr<SocketFolder> sockets = SocketFolder::Create();
  if (!sockets.ok()) return sockets.status();
  auto embedded = std::make_unique<EmbeddedOrchestratorImpl>(
      *std::move(lock), *std::move(sockets), *std::move(log),
      *std::move(store));
  FLYWHEEL_RETURN_IF_ERROR(embedded->Serve(options));
  return embedded;
}

}  // namespace flywheel
