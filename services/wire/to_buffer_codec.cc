#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flywheel/v1/buffer.pb.h"
#include "services/core/status_macros.h"
#include "services/wire/data_codec.h"
#include "services/wire/message_bytes_codec.h"
#include "services/wire/message_checks.h"
#include "services/wire/trajectory_schema_codec.h"

namespace flywheel {
namespace {

// One pair per message: how it is put into the oneof, and how it is read.

void Put(const RolloutHello& hello, v1::ToBuffer& to) {
  v1::RolloutHello& message = *to.mutable_rollout_hello();
  *message.mutable_schema() = TrajectorySchemaToProto(hello.schema);
  message.set_first_environment(hello.first_environment);
  message.set_num_environments(hello.num_environments);
  message.set_environment_step_seconds(hello.environment_step_seconds);
  message.mutable_held_credits()->Assign(hello.held_credits.begin(),
                                         hello.held_credits.end());
}

absl::Status Get(const v1::RolloutHello& message, RolloutHello& hello) {
  absl::StatusOr<TrajectorySchema> schema =
      TrajectorySchemaFromProto("rollout_hello.schema", message.schema());
  if (!schema.ok()) return schema.status();
  hello.schema = *std::move(schema);
  hello.first_environment = message.first_environment();
  hello.num_environments = message.num_environments();
  hello.environment_step_seconds = message.environment_step_seconds();
  hello.held_credits.assign(message.held_credits().begin(),
                            message.held_credits().end());
  FLYWHEEL_RETURN_IF_ERROR(CheckRange("rollout_hello.first_environment",
                                      hello.first_environment, 0,
                                      uint64_t{1} << 62));
  FLYWHEEL_RETURN_IF_ERROR(CheckRange("rollout_hello.num_environments",
                                      hello.num_environments, 1, kMaxRepeated));
  FLYWHEEL_RETURN_IF_ERROR(CheckAmount("rollout_hello.environment_step_seconds",
                                       hello.environment_step_seconds));
  return CheckRepeated("rollout_hello.held_credits", hello.held_credits.size());
}

void Put(const CreditRequest& request, v1::ToBuffer& to) {
  to.mutable_credit_request()->mutable_environments()->Assign(
      request.environments.begin(), request.environments.end());
}

absl::Status Get(const v1::CreditRequest& message, CreditRequest& request) {
  request.environments.assign(message.environments().begin(),
                              message.environments().end());
  return CheckRepeated("credit_request.environments",
                       request.environments.size());
}

void Put(const ActingVersion& acting, v1::ToBuffer& to) {
  to.mutable_acting_version()->set_version(acting.version.value);
}

absl::Status Get(const v1::ActingVersion& message, ActingVersion& acting) {
  acting.version.value = message.version();
  return CheckAtLeast("acting_version.version", acting.version.value, 0);
}

void Put(const Delivery& delivery, v1::ToBuffer& to) {
  v1::Delivery& message = *to.mutable_delivery();
  message.set_sequence(delivery.sequence);
  message.set_credit(delivery.credit);
  message.set_num_records(delivery.num_records);
  message.set_trajectory_seconds(delivery.trajectory_seconds);
}

absl::Status Get(const v1::Delivery& message, Delivery& delivery) {
  delivery = {.sequence = message.sequence(),
              .credit = message.credit(),
              .num_records = message.num_records(),
              .trajectory_seconds = message.trajectory_seconds()};
  if (delivery.sequence == 0 || delivery.credit == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("delivery.sequence and delivery.credit must be >= 1, got ",
                     delivery.sequence, " and ", delivery.credit));
  }
  FLYWHEEL_RETURN_IF_ERROR(CheckRange(
      "delivery.num_records", delivery.num_records, 0, kMaxRecordFrames));
  return CheckAmount("delivery.trajectory_seconds",
                     delivery.trajectory_seconds);
}

void Put(const LearnerHello& hello, v1::ToBuffer& to) {
  to.mutable_learner_hello()->set_next_train_step(hello.next_train_step);
}

absl::Status Get(const v1::LearnerHello& message, LearnerHello& hello) {
  hello.next_train_step = message.next_train_step();
  return CheckAtLeast("learner_hello.next_train_step", hello.next_train_step,
                      0);
}

void Put(const TakeRequest& take, v1::ToBuffer& to) {
  to.mutable_take()->set_step(take.step);
  to.mutable_take()->set_waited_share(take.waited_share);
}

absl::Status Get(const v1::TakeRequest& message, TakeRequest& take) {
  take = {.step = message.step(), .waited_share = message.waited_share()};
  FLYWHEEL_RETURN_IF_ERROR(CheckAtLeast("take.step", take.step, 0));
  return CheckAmount("take.waited_share", take.waited_share);
}

void Put(const SampleRequest& sample, v1::ToBuffer& to) {
  v1::SampleRequest& message = *to.mutable_sample();
  message.set_table(sample.table);
  message.set_n(sample.n);
  message.set_request(sample.request);
  message.set_min_items(sample.min_items);
}

absl::Status Get(const v1::SampleRequest& message, SampleRequest& sample) {
  FLYWHEEL_RETURN_IF_ERROR(CheckTextBytes("sample.table", message.table()));
  sample = {.table = message.table(),
            .n = message.n(),
            .request = message.request(),
            .min_items = message.min_items()};
  return CheckRange("sample.n", sample.n, 1, kMaxRecordFrames);
}

void Put(const Release& release, v1::ToBuffer& to) {
  to.mutable_release()->set_before_step(release.before_step);
}

absl::Status Get(const v1::Release& message, Release& release) {
  release.before_step = message.before_step();
  return CheckAtLeast("release.before_step", release.before_step, 0);
}

template <typename Message, typename Proto>
absl::Status GetInto(const Proto& message, ToBuffer& to) {
  return Get(message, to.message.emplace<Message>());
}

absl::Status GetMessage(const v1::ToBuffer& message, ToBuffer& to) {
  switch (message.message_case()) {
    case v1::ToBuffer::kRolloutHello:
      return GetInto<RolloutHello>(message.rollout_hello(), to);
    case v1::ToBuffer::kCreditRequest:
      return GetInto<CreditRequest>(message.credit_request(), to);
    case v1::ToBuffer::kActingVersion:
      return GetInto<ActingVersion>(message.acting_version(), to);
    case v1::ToBuffer::kDelivery:
      return GetInto<Delivery>(message.delivery(), to);
    case v1::ToBuffer::kLearnerHello:
      return GetInto<LearnerHello>(message.learner_hello(), to);
    case v1::ToBuffer::kTake:
      return GetInto<TakeRequest>(message.take(), to);
    case v1::ToBuffer::kSample:
      return GetInto<SampleRequest>(message.sample(), to);
    case v1::ToBuffer::kRelease:
      return GetInto<Release>(message.release(), to);
    case v1::ToBuffer::MESSAGE_NOT_SET:
      break;
  }
  return UnknownOneofError("ToBuffer.message", message);
}

}  // namespace

std::string ToBufferBytes(const ToBuffer& to) {
  v1::ToBuffer message;
  message.set_worker(to.worker);
  message.set_incarnation(to.incarnation);
  std::visit([&](const auto& one) { Put(one, message); }, to.message);
  return message.SerializeAsString();
}

absl::StatusOr<ToBuffer> ToBufferFromBytes(std::string_view bytes) {
  v1::ToBuffer message;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("ToBuffer", bytes, message));
  ToBuffer to{.worker = message.worker(), .incarnation = message.incarnation()};
  FLYWHEEL_RETURN_IF_ERROR(GetMessage(message, to));
  return to;
}

}  // namespace flywheel
