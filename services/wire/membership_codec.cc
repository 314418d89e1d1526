#include "services/wire/membership_codec.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/job_spec_codec.h"
#include "services/wire/utf8_text.h"

namespace flywheel {
namespace {

// Processes of one role, and microseconds since 1970 until the year 5138.
constexpr int kIndexMax = 1'000'000;
constexpr int64_t kIncarnationMax = 100'000'000'000'000'000;
constexpr std::size_t kFailureBytesMax = 4096;

absl::Status CheckBetween(absl::string_view field, int64_t value, int64_t min,
                          int64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be from ", min, " to ", max, ", got ", value));
}

template <typename To, typename From>
To MapFrom(const From& map) {
  return {map.begin(), map.end()};
}

v1::LearnerPhase PhaseToProto(LearnerPhase phase) {
  switch (phase) {
    case LearnerPhase::kStarting:
      return v1::LEARNER_PHASE_STARTING;
    case LearnerPhase::kCollecting:
      return v1::LEARNER_PHASE_COLLECTING;
    case LearnerPhase::kImitating:
      return v1::LEARNER_PHASE_IMITATING;
    case LearnerPhase::kTraining:
      return v1::LEARNER_PHASE_TRAINING;
    case LearnerPhase::kFinished:
      return v1::LEARNER_PHASE_FINISHED;
    case LearnerPhase::kFailed:
      return v1::LEARNER_PHASE_FAILED;
  }
  return v1::LEARNER_PHASE_UNSPECIFIED;
}

// A phase that a newer learner may know counts as training.
LearnerPhase PhaseFromProto(v1::LearnerPhase phase) {
  switch (phase) {
    case v1::LEARNER_PHASE_UNSPECIFIED:
    case v1::LEARNER_PHASE_STARTING:
      return LearnerPhase::kStarting;
    case v1::LEARNER_PHASE_COLLECTING:
      return LearnerPhase::kCollecting;
    case v1::LEARNER_PHASE_IMITATING:
      return LearnerPhase::kImitating;
    case v1::LEARNER_PHASE_FINISHED:
      return LearnerPhase::kFinished;
    case v1::LEARNER_PHASE_FAILED:
      return LearnerPhase::kFailed;
    default:
      return LearnerPhase::kTraining;
  }
}

}  // namespace

v1::Role RoleToProto(Role role) {
  switch (role) {
    case Role::kRollout:
      return v1::ROLE_ROLLOUT;
    case Role::kBuffer:
      return v1::ROLE_BUFFER;
    case Role::kLearner:
      return v1::ROLE_LEARNER;
    case Role::kEvaluation:
      return v1::ROLE_EVALUATION;
  }
  return v1::ROLE_UNSPECIFIED;
}

absl::StatusOr<Role> RoleFromProto(v1::Role role) {
  switch (role) {
    case v1::ROLE_ROLLOUT:
      return Role::kRollout;
    case v1::ROLE_BUFFER:
      return Role::kBuffer;
    case v1::ROLE_LEARNER:
      return Role::kLearner;
    case v1::ROLE_EVALUATION:
      return Role::kEvaluation;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "role must be ROLLOUT, BUFFER, LEARNER or EVALUATION, got number ",
          static_cast<int>(role)));
  }
}

v1::Member MemberToProto(const Member& member) {
  v1::Member to;
  to.set_role(RoleToProto(member.role));
  to.set_index(member.index);
  to.set_incarnation(member.incarnation);
  return to;
}

absl::StatusOr<Member> MemberFromProto(const v1::Member& message) {
  const absl::StatusOr<Role> role = RoleFromProto(message.role());
  if (!role.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("member.", role.status().message()));
  }
  FLYWHEEL_RETURN_IF_ERROR(
      CheckBetween("member.index", message.index(), 0, kIndexMax));
  FLYWHEEL_RETURN_IF_ERROR(CheckBetween(
      "member.incarnation", message.incarnation(), 1, kIncarnationMax));
  return Member{.role = *role,
                .index = message.index(),
                .incarnation = message.incarnation()};
}

v1::RegisterResponse AssignmentToProto(const Assignment& assignment) {
  v1::RegisterResponse to;
  *to.mutable_job() = JobSpecToProto(assignment.job);
  to.set_run_folder(assignment.run_folder);
  to.set_buffer_endpoint(assignment.buffer_endpoint);
  to.set_policy_endpoint(assignment.policy_endpoint);
  to.set_elapsed_seconds(assignment.elapsed_seconds);
  return to;
}

absl::StatusOr<Assignment> AssignmentFromProto(
    const v1::RegisterResponse& message) {
  absl::StatusOr<JobSpec> job = JobSpecFromProto(message.job());
  if (!job.ok()) {
    return absl::Status(job.status().code(),
                        absl::StrCat("job.", job.status().message()));
  }
  const double elapsed = message.elapsed_seconds();
  if (!std::isfinite(elapsed) || elapsed < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "elapsed_seconds must be finite and not negative, got ", elapsed));
  }
  return Assignment{.job = *std::move(job),
                    .run_folder = message.run_folder(),
                    .buffer_endpoint = message.buffer_endpoint(),
                    .policy_endpoint = message.policy_endpoint(),
                    .elapsed_seconds = elapsed};
}

v1::Directive DirectiveToProto(Directive directive) {
  switch (directive) {
    case Directive::kContinue:
      return v1::DIRECTIVE_CONTINUE;
    case Directive::kDrain:
      return v1::DIRECTIVE_DRAIN;
    case Directive::kFenced:
      return v1::DIRECTIVE_FENCED;
  }
  return v1::DIRECTIVE_UNSPECIFIED;
}

Directive DirectiveFromProto(v1::Directive directive) {
  switch (directive) {
    case v1::DIRECTIVE_DRAIN:
      return Directive::kDrain;
    case v1::DIRECTIVE_FENCED:
      return Directive::kFenced;
    default:
      return Directive::kContinue;
  }
}

v1::HeartbeatRequest HeartbeatToProto(const Heartbeat& heartbeat) {
  v1::HeartbeatRequest to;
  to.set_job_id(heartbeat.job_id);
  *to.mutable_member() = MemberToProto(heartbeat.member);
  if (const auto* rollout = std::get_if<RolloutStatus>(&heartbeat.status)) {
    *to.mutable_rollout() = StatusToProto(*rollout);
  } else if (const auto* buffer =
                 std::get_if<BufferStatus>(&heartbeat.status)) {
    *to.mutable_buffer() = StatusToProto(*buffer);
  } else if (const auto* learner =
                 std::get_if<LearnerStatus>(&heartbeat.status)) {
    *to.mutable_learner() = StatusToProto(*learner);
  } else if (const auto* evaluation =
                 std::get_if<EvaluationStatus>(&heartbeat.status)) {
    *to.mutable_evaluation() = StatusToProto(*evaluation);
  }
  return to;
}

absl::StatusOr<Heartbeat> HeartbeatFromProto(
    const v1::HeartbeatRequest& message) {
  const absl::StatusOr<Member> member = MemberFromProto(message.member());
  if (!member.ok()) return member.status();
  Heartbeat to{.job_id = message.job_id(), .member = *member};
  switch (message.status_case()) {
    case v1::HeartbeatRequest::kRollout:
      to.status = StatusFromProto(message.rollout());
      break;
    case v1::HeartbeatRequest::kBuffer:
      to.status = StatusFromProto(message.buffer());
      break;
    case v1::HeartbeatRequest::kLearner:
      to.status = StatusFromProto(message.learner());
      break;
    case v1::HeartbeatRequest::kEvaluation:
      to.status = StatusFromProto(message.evaluation());
      break;
    case v1::HeartbeatRequest::STATUS_NOT_SET:
      break;  // Alive, with nothing to tell yet.
  }
  return to;
}

v1::RolloutStatus StatusToProto(const RolloutStatus& status) {
  v1::RolloutStatus to;
  to.set_environment_steps(status.environment_steps);
  to.set_episodes(status.episodes);
  to.set_policy_version(status.policy_version);
  to.mutable_drops()->insert(status.drops.begin(), status.drops.end());
  to.mutable_seconds_by_cause()->insert(status.seconds_by_cause.begin(),
                                        status.seconds_by_cause.end());
  return to;
}

v1::BufferStatus StatusToProto(const BufferStatus& status) {
  v1::BufferStatus to;
  to.set_credits_out(status.credits_out);
  to.set_credits_ready(status.credits_ready);
  to.set_items(status.items);
  to.set_bytes(status.bytes);
  to.mutable_drops()->insert(status.drops.begin(), status.drops.end());
  to.mutable_seconds_by_cause()->insert(status.seconds_by_cause.begin(),
                                        status.seconds_by_cause.end());
  to.set_train_step(status.train_step);
  to.set_demonstrations(status.demonstrations);
  return to;
}

v1::LearnerStatus StatusToProto(const LearnerStatus& status) {
  v1::LearnerStatus to;
  to.set_phase(PhaseToProto(status.phase));
  to.set_progress(status.progress);
  to.set_train_steps(status.train_steps);
  to.set_environment_steps(status.environment_steps);
  to.set_seconds(status.seconds);
  to.set_episode_return_mean(status.episode_return_mean);
  to.set_success_rate(status.success_rate);
  to.set_episodes(status.episodes);
  to.mutable_policy_lag_counts()->insert(status.policy_lag_counts.begin(),
                                         status.policy_lag_counts.end());
  to.mutable_seconds_by_cause()->insert(status.seconds_by_cause.begin(),
                                        status.seconds_by_cause.end());
  to.set_newest_checkpoint(status.newest_checkpoint);
  to.mutable_evaluation_checkpoints()->Assign(
      status.evaluation_checkpoints.begin(),
      status.evaluation_checkpoints.end());
  to.set_loss(status.loss);
  to.set_failure(Utf8Text(status.failure, kFailureBytesMax));
  to.set_failure_exit_code(status.failure_exit_code);
  to.set_interrupted(status.interrupted);
  to.set_train_steps_repeated(status.train_steps_repeated);
  return to;
}

v1::EvaluationStatus StatusToProto(const EvaluationStatus& status) {
  v1::EvaluationStatus to;
  to.set_episodes(status.episodes);
  to.set_episodes_total(status.episodes_total);
  return to;
}

RolloutStatus StatusFromProto(const v1::RolloutStatus& message) {
  return {.environment_steps = message.environment_steps(),
          .episodes = message.episodes(),
          .policy_version = message.policy_version(),
          .drops = MapFrom<std::map<std::string, int64_t>>(message.drops()),
          .seconds_by_cause = MapFrom<std::map<std::string, double>>(
              message.seconds_by_cause())};
}

BufferStatus StatusFromProto(const v1::BufferStatus& message) {
  return {.credits_out = message.credits_out(),
          .credits_ready = message.credits_ready(),
          .items = message.items(),
          .bytes = message.bytes(),
          .drops = MapFrom<std::map<std::string, int64_t>>(message.drops()),
          .seconds_by_cause = MapFrom<std::map<std::string, double>>(
              message.seconds_by_cause()),
          .train_step = message.train_step(),
          .demonstrations = message.demonstrations()};
}

LearnerStatus StatusFromProto(const v1::LearnerStatus& message) {
  return {.phase = PhaseFromProto(message.phase()),
          .progress = message.progress(),
          .train_steps = message.train_steps(),
          .environment_steps = message.environment_steps(),
          .seconds = message.seconds(),
          .episode_return_mean = message.episode_return_mean(),
          .success_rate = message.success_rate(),
          .episodes = message.episodes(),
          .policy_lag_counts =
              MapFrom<std::map<int64_t, int64_t>>(message.policy_lag_counts()),
          .seconds_by_cause = MapFrom<std::map<std::string, double>>(
              message.seconds_by_cause()),
          .newest_checkpoint = message.newest_checkpoint(),
          .evaluation_checkpoints = {message.evaluation_checkpoints().begin(),
                                     message.evaluation_checkpoints().end()},
          .loss = message.loss(),
          .failure = message.failure(),
          .failure_exit_code = message.failure_exit_code(),
          .interrupted = message.interrupted(),
          .train_steps_repeated = message.train_steps_repeated()};
}

EvaluationStatus StatusFromProto(const v1::EvaluationStatus& message) {
  return {.episodes = message.episodes(),
          .episodes_total = message.episodes_total()};
}

}  // namespace flywheel
