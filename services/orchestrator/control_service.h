#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "grpcpp/server.h"
#include "services/orchestrator/jobs_service.h"
#include "services/orchestrator/membership_service.h"

namespace flywheel {

// The gRPC server of one orchestrator: Jobs and Membership.
class ControlService {
 public:
  // Listens on `address` ("unix:/tmp/x/orchestrator.sock"); empty: only in this
  // process, by InProcessChannel(). Unavailable if that is not possible.
  // `orchestrator` must outlive it.
  static absl::StatusOr<std::unique_ptr<ControlService>> Start(
      Orchestrator& orchestrator, const std::string& address);

  // Calls that are under way are cancelled.
  ~ControlService();

  std::shared_ptr<grpc::Channel> InProcessChannel() {
    return server_->InProcessChannel({});
  }

 private:
  explicit ControlService(Orchestrator& orchestrator)
      : jobs_(orchestrator), membership_(orchestrator) {}

  JobsService jobs_;
  MembershipService membership_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace flywheel
