#pragma once

#include <memory>
#include <string>

#include "services/orchestrator/control_service.h"
#include "services/orchestrator/orchestrator.h"
#include "services/wire/socket_folder.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/orchestrator/fake_placement.h"
#include "tests/testing/temp_folder.h"

namespace flywheel {

// An orchestrator with its gRPC server on a Unix socket; its processes are the
// test's.
class RunningOrchestrator {
 public:
  RunningOrchestrator() {
    auto placement = std::make_unique<FakePlacement>();
    placement_ = placement.get();
    orchestrator_ = std::make_unique<Orchestrator>(
        Orchestrator::Options{.address = target(),
                              .socket_folder = sockets_.path(),
                              .runs_folder = folder_ / "runs"},
        *store_, std::move(placement), clock_, log_);
    StartServer();
  }

  void StartServer() {
    auto server = ControlService::Start(*orchestrator_, target());
    if (server.ok()) server_ = *std::move(server);
  }
  void StopServer() { server_.reset(); }

  // A job that needs one buffer, learner and rollout.
  static JobRequest SmallRequest() {
    JobRequest request;
    request.spec.name = "small";
    request.spec.task = "counting";
    request.spec.budget.train_steps = 1;
    request.spec.evaluation.episodes = 0;
    return request;
  }

  std::string target() const {
    return "unix:" + sockets_.Path("orchestrator.sock");
  }
  const std::string& socket_folder() const { return sockets_.path(); }
  Orchestrator& orchestrator() { return *orchestrator_; }
  FakePlacement& placement() { return *placement_; }
  ControlService& server() { return *server_; }

 private:
  const TempFolder folder_;
  const SocketFolder sockets_ = *SocketFolder::Create();
  const MonotonicClock clock_;
  spdlog::logger log_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
  const std::unique_ptr<JobStore> store_ = *JobStore::Open(folder_ / "jobs.db");
  FakePlacement* placement_ = nullptr;  // The orchestrator's.
  std::unique_ptr<Orchestrator> orchestrator_;
  std::unique_ptr<ControlService> server_;
};

}  // namespace flywheel
