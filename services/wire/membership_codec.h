#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "flywheel/v1/membership.pb.h"
#include "services/core/member_status.h"

namespace flywheel {

// Messages of membership.proto and their structs. What came from the network
// is checked: InvalidArgument names the field, the rule and the value.

v1::Role RoleToProto(Role role);
absl::StatusOr<Role> RoleFromProto(v1::Role role);

v1::Member MemberToProto(const Member& member);
absl::StatusOr<Member> MemberFromProto(const v1::Member& message);

v1::RegisterResponse AssignmentToProto(const Assignment& assignment);
absl::StatusOr<Assignment> AssignmentFromProto(
    const v1::RegisterResponse& message);

v1::Directive DirectiveToProto(Directive directive);
Directive DirectiveFromProto(v1::Directive directive);  // Unknown: continue.

// One process's news.
struct Heartbeat {
  std::string job_id;
  Member member;
  MemberStatus status;
};

v1::HeartbeatRequest HeartbeatToProto(const Heartbeat& heartbeat);
absl::StatusOr<Heartbeat> HeartbeatFromProto(
    const v1::HeartbeatRequest& message);

v1::RolloutStatus StatusToProto(const RolloutStatus& status);
v1::BufferStatus StatusToProto(const BufferStatus& status);
v1::LearnerStatus StatusToProto(const LearnerStatus& status);
v1::EvaluationStatus StatusToProto(const EvaluationStatus& status);

RolloutStatus StatusFromProto(const v1::RolloutStatus& message);
BufferStatus StatusFromProto(const v1::BufferStatus& message);
LearnerStatus StatusFromProto(const v1::LearnerStatus& message);
EvaluationStatus StatusFromProto(const v1::EvaluationStatus& message);

}  // namespace flywheel
