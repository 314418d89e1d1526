#include <utility>

#include "absl/strings/str_cat.h"
#include "flywheel/v1/buffer.pb.h"
#include "services/core/status_macros.h"
#include "services/wire/data_codec.h"
#include "services/wire/message_bytes_codec.h"
#include "services/wire/message_checks.h"
#include "services/wire/trajectory_schema_codec.h"
#include "services/wire/utf8_text.h"

namespace flywheel {
namespace {

// A text as a receiver takes it.
std::string Limited(const std::string& text) {
  return Utf8Text(text, kMaxTextBytes);
}

absl::StatusOr<CreditKind> CreditKindFromProto(v1::CreditKind kind) {
  switch (kind) {
    case v1::CREDIT_KIND_TRAINING:
      return CreditKind::kTraining;
    case v1::CREDIT_KIND_DEMONSTRATION:
      return CreditKind::kDemonstration;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "credit_grant.kind must be training or demonstration, got ", kind));
  }
}

v1::CreditKind CreditKindToProto(CreditKind kind) {
  switch (kind) {
    case CreditKind::kTraining:
      return v1::CREDIT_KIND_TRAINING;
    case CreditKind::kDemonstration:
      return v1::CREDIT_KIND_DEMONSTRATION;
  }
  return v1::CREDIT_KIND_UNSPECIFIED;
}

// One pair per message: how it is put into the oneof, and how it is read.

void Put(const Welcome& welcome, v1::FromBuffer& from) {
  v1::Welcome& message = *from.mutable_welcome();
  message.set_acknowledged_through(welcome.acknowledged_through);
  message.mutable_held_credits()->Assign(welcome.held_credits.begin(),
                                         welcome.held_credits.end());
}

absl::Status Get(const v1::Welcome& message, Welcome& welcome) {
  welcome.acknowledged_through = message.acknowledged_through();
  welcome.held_credits.assign(message.held_credits().begin(),
                              message.held_credits().end());
  return CheckRepeated("welcome.held_credits", welcome.held_credits.size());
}

void Put(const CreditGrant& grant, v1::FromBuffer& from) {
  v1::CreditGrant& message = *from.mutable_credit_grant();
  message.set_environment(grant.credit.environment);
  message.set_credit(grant.credit.id);
  message.set_kind(CreditKindToProto(grant.credit.kind));
  message.set_version(grant.credit.version.value);
  message.set_deadline(grant.credit.deadline);
}

absl::Status Get(const v1::CreditGrant& message, CreditGrant& grant) {
  const absl::StatusOr<CreditKind> kind = CreditKindFromProto(message.kind());
  if (!kind.ok()) return kind.status();
  grant.credit = {.id = message.credit(),
                  .environment = message.environment(),
                  .kind = *kind,
                  .version = {message.version()},
                  .deadline = message.deadline()};
  if (grant.credit.id == 0) {
    return absl::InvalidArgumentError(
        "credit_grant.credit must be >= 1, got 0");
  }
  FLYWHEEL_RETURN_IF_ERROR(
      CheckAtLeast("credit_grant.version", grant.credit.version.value, 0));
  return CheckAtLeast("credit_grant.deadline", grant.credit.deadline, 0);
}

void Put(const CallIn& call_in, v1::FromBuffer& from) {
  from.mutable_call_in()->mutable_credits()->Assign(call_in.credits.begin(),
                                                    call_in.credits.end());
}

absl::Status Get(const v1::CallIn& message, CallIn& call_in) {
  call_in.credits.assign(message.credits().begin(), message.credits().end());
  return CheckRepeated("call_in.credits", call_in.credits.size());
}

void Put(const Revocation& revocation, v1::FromBuffer& from) {
  v1::Revocation& message = *from.mutable_revocation();
  message.mutable_credits()->Assign(revocation.credits.begin(),
                                    revocation.credits.end());
  message.set_reason(Limited(revocation.reason));
}

absl::Status Get(const v1::Revocation& message, Revocation& revocation) {
  revocation.credits.assign(message.credits().begin(), message.credits().end());
  revocation.reason = message.reason();
  FLYWHEEL_RETURN_IF_ERROR(
      CheckTextBytes("revocation.reason", revocation.reason));
  return CheckRepeated("revocation.credits", revocation.credits.size());
}

void Put(const Acknowledgment& acknowledgment, v1::FromBuffer& from) {
  v1::Acknowledgment& message = *from.mutable_acknowledgment();
  message.set_acknowledged_through(acknowledgment.acknowledged_through);
  message.set_refused_reason(Limited(acknowledgment.refused_reason));
  message.set_refused_message(Limited(acknowledgment.refused_message));
}

absl::Status Get(const v1::Acknowledgment& message,
                 Acknowledgment& acknowledgment) {
  acknowledgment = {.acknowledged_through = message.acknowledged_through(),
                    .refused_reason = message.refused_reason(),
                    .refused_message = message.refused_message()};
  FLYWHEEL_RETURN_IF_ERROR(CheckTextBytes("acknowledgment.refused_reason",
                                          acknowledgment.refused_reason));
  return CheckTextBytes("acknowledgment.refused_message",
                        acknowledgment.refused_message);
}

void Put(const LearnerWelcome& welcome, v1::FromBuffer& from) {
  v1::LearnerWelcome& message = *from.mutable_learner_welcome();
  message.set_next_train_step(welcome.next_train_step);
  if (welcome.schema.has_value()) {
    *message.mutable_schema() = TrajectorySchemaToProto(*welcome.schema);
  }
}

absl::Status Get(const v1::LearnerWelcome& message, LearnerWelcome& welcome) {
  welcome.next_train_step = message.next_train_step();
  if (message.has_schema()) {
    absl::StatusOr<TrajectorySchema> schema =
        TrajectorySchemaFromProto("learner_welcome.schema", message.schema());
    if (!schema.ok()) return schema.status();
    welcome.schema = *std::move(schema);
  }
  return CheckAtLeast("learner_welcome.next_train_step",
                      welcome.next_train_step, 0);
}

void Put(const TakeReply& reply, v1::FromBuffer& from) {
  from.mutable_take_reply()->set_step(reply.step);
  from.mutable_take_reply()->set_num_records(reply.num_records);
}

absl::Status Get(const v1::TakeReply& message, TakeReply& reply) {
  reply = {.step = message.step(), .num_records = message.num_records()};
  FLYWHEEL_RETURN_IF_ERROR(CheckAtLeast("take_reply.step", reply.step, 0));
  return CheckRange("take_reply.num_records", reply.num_records, 0,
                    kMaxRecordFrames);
}

void Put(const SampleReply& reply, v1::FromBuffer& from) {
  v1::SampleReply& message = *from.mutable_sample_reply();
  message.set_request(reply.request);
  message.set_num_records(reply.num_records);
  message.set_table_items(reply.table_items);
}

absl::Status Get(const v1::SampleReply& message, SampleReply& reply) {
  reply = {.request = message.request(),
           .num_records = message.num_records(),
           .table_items = message.table_items()};
  return CheckRange("sample_reply.num_records", reply.num_records, 0,
                    kMaxRecordFrames);
}

void Put(const Refusal& refusal, v1::FromBuffer& from) {
  from.mutable_refusal()->set_reason(Limited(refusal.reason));
  from.mutable_refusal()->set_message(Limited(refusal.message));
}

absl::Status Get(const v1::Refusal& message, Refusal& refusal) {
  refusal = {.reason = message.reason(), .message = message.message()};
  FLYWHEEL_RETURN_IF_ERROR(CheckTextBytes("refusal.reason", refusal.reason));
  return CheckTextBytes("refusal.message", refusal.message);
}

template <typename Message, typename Proto>
absl::Status GetInto(const Proto& message, FromBuffer& from) {
  return Get(message, from.message.emplace<Message>());
}

absl::Status GetMessage(const v1::FromBuffer& message, FromBuffer& from) {
  switch (message.message_case()) {
    case v1::FromBuffer::kWelcome:
      return GetInto<Welcome>(message.welcome(), from);
    case v1::FromBuffer::kCreditGrant:
      return GetInto<CreditGrant>(message.credit_grant(), from);
    case v1::FromBuffer::kCallIn:
      return GetInto<CallIn>(message.call_in(), from);
    case v1::FromBuffer::kRevocation:
      return GetInto<Revocation>(message.revocation(), from);
    case v1::FromBuffer::kAcknowledgment:
      return GetInto<Acknowledgment>(message.acknowledgment(), from);
    case v1::FromBuffer::kLearnerWelcome:
      return GetInto<LearnerWelcome>(message.learner_welcome(), from);
    case v1::FromBuffer::kTakeReply:
      return GetInto<TakeReply>(message.take_reply(), from);
    case v1::FromBuffer::kSampleReply:
      return GetInto<SampleReply>(message.sample_reply(), from);
    case v1::FromBuffer::kRefusal:
      return GetInto<Refusal>(message.refusal(), from);
    case v1::FromBuffer::MESSAGE_NOT_SET:
      break;
  }
  return UnknownOneofError("FromBuffer.message", message);
}

}  // namespace

std::string FromBufferBytes(const FromBuffer& from) {
  v1::FromBuffer message;
  message.set_buffer_incarnation(from.buffer_incarnation);
  std::visit([&](const auto& one) { Put(one, message); }, from.message);
  return message.SerializeAsString();
}

absl::StatusOr<FromBuffer> FromBufferFromBytes(std::string_view bytes) {
  v1::FromBuffer message;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("FromBuffer", bytes, message));
  FromBuffer from{.buffer_incarnation = message.buffer_incarnation()};
  FLYWHEEL_RETURN_IF_ERROR(GetMessage(message, from));
  return from;
}

}  // namespace flywheel
