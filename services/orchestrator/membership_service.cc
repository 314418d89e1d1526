#include "services/orchestrator/membership_service.h"

#include "services/wire/membership_codec.h"
#include "services/wire/status_codec.h"

namespace flywheel {
namespace {

absl::StatusOr<Assignment> Join(Orchestrator& orchestrator,
                                const v1::RegisterRequest& request) {
  const absl::StatusOr<Member> member = MemberFromProto(request.member());
  if (!member.ok()) return member.status();
  return orchestrator.Register(request.job_id(), *member);
}

absl::StatusOr<Directive> Hear(Orchestrator& orchestrator,
                               const v1::HeartbeatRequest& request) {
  const absl::StatusOr<flywheel::Heartbeat> heartbeat =
      HeartbeatFromProto(request);
  if (!heartbeat.ok()) return heartbeat.status();
  return orchestrator.HearFrom(heartbeat->job_id, heartbeat->member,
                               heartbeat->status);
}

}  // namespace

grpc::ServerUnaryReactor* MembershipService::Register(
    grpc::CallbackServerContext* context, const v1::RegisterRequest* request,
    v1::RegisterResponse* response) {
  const absl::StatusOr<Assignment> assignment = Join(orchestrator_, *request);
  if (assignment.ok()) *response = AssignmentToProto(*assignment);

  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(assignment.status()));
  return reactor;
}

grpc::ServerUnaryReactor* MembershipService::Heartbeat(
    grpc::CallbackServerContext* context, const v1::HeartbeatRequest* request,
    v1::HeartbeatResponse* response) {
  const absl::StatusOr<Directive> directive = Hear(orchestrator_, *request);
  if (directive.ok()) response->set_directive(DirectiveToProto(*directive));

  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(directive.status()));
  return reactor;
}

}  // namespace flywheel
