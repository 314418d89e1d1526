#pragma once

#include "flywheel/v1/membership.grpc.pb.h"
#include "services/orchestrator/orchestrator.h"

namespace flywheel {

// Membership over gRPC: checks, converts, forwards, nothing else.
class MembershipService final : public v1::Membership::CallbackService {
 public:
  // `orchestrator` must outlive the server this service is registered with.
  explicit MembershipService(Orchestrator& orchestrator)
      : orchestrator_(orchestrator) {}

  grpc::ServerUnaryReactor* Register(grpc::CallbackServerContext* context,
                                     const v1::RegisterRequest* request,
                                     v1::RegisterResponse* response) override;

  grpc::ServerUnaryReactor* Heartbeat(grpc::CallbackServerContext* context,
                                      const v1::HeartbeatRequest* request,
                                      v1::HeartbeatResponse* response) override;

 private:
  Orchestrator& orchestrator_;
};

}  // namespace flywheel
