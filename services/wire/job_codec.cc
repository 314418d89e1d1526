#include "services/wire/job_codec.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "flywheel/v1/jobs.pb.h"
#include "services/core/status_macros.h"
#include "services/wire/job_spec_codec.h"
#include "services/wire/membership_codec.h"
#include "services/wire/message_bytes_codec.h"

namespace flywheel {
namespace {

constexpr std::size_t kRequestIdBytesMax = 128;
constexpr std::size_t kPathBytesMax = 4096;

int64_t Micros(const std::optional<absl::Time>& time) {
  return time ? absl::ToUnixMicros(*time) : 0;
}

std::optional<absl::Time> TimeFrom(int64_t micros) {
  return micros == 0 ? std::nullopt
                     : std::optional(absl::FromUnixMicros(micros));
}

v1::JobState StateToProto(JobState state) {
  switch (state) {
    case JobState::kPending:
      return v1::JOB_STATE_PENDING;
    case JobState::kPlacing:
      return v1::JOB_STATE_PLACING;
    case JobState::kRunning:
      return v1::JOB_STATE_RUNNING;
    case JobState::kRecovering:
      return v1::JOB_STATE_RECOVERING;
    case JobState::kPausing:
      return v1::JOB_STATE_PAUSING;
    case JobState::kPaused:
      return v1::JOB_STATE_PAUSED;
    case JobState::kCancelling:
      return v1::JOB_STATE_CANCELLING;
    case JobState::kSucceeded:
      return v1::JOB_STATE_SUCCEEDED;
    case JobState::kFailed:
      return v1::JOB_STATE_FAILED;
    case JobState::kCancelled:
      return v1::JOB_STATE_CANCELLED;
  }
  return v1::JOB_STATE_UNSPECIFIED;
}

absl::StatusOr<JobState> StateFromProto(v1::JobState state) {
  for (const JobState known :
       {JobState::kPending, JobState::kPlacing, JobState::kRunning,
        JobState::kRecovering, JobState::kPausing, JobState::kPaused,
        JobState::kCancelling, JobState::kSucceeded, JobState::kFailed,
        JobState::kCancelled}) {
    if (StateToProto(known) == state) return known;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "state must be one of JobState, got number ", static_cast<int>(state)));
}

void Fill(const Evaluation& from, v1::Evaluation& to) {
  to.set_checkpoint(from.checkpoint);
  to.set_policy_version(from.policy_version);
  to.set_environment_steps(from.environment_steps);
  to.set_episodes(from.episodes);
  to.set_episode_return_mean(from.episode_return_mean);
  to.set_episode_return_std(from.episode_return_std);
  to.set_success_rate(from.success_rate);
  to.set_final(from.final);
  to.set_seconds_trained(from.seconds_trained);
}

Evaluation EvaluationFrom(const v1::Evaluation& from) {
  return {.checkpoint = from.checkpoint(),
          .policy_version = from.policy_version(),
          .environment_steps = from.environment_steps(),
          .episodes = from.episodes(),
          .episode_return_mean = from.episode_return_mean(),
          .episode_return_std = from.episode_return_std(),
          .success_rate = from.success_rate(),
          .final = from.final(),
          .seconds_trained = from.seconds_trained()};
}

void Fill(const Restart& from, v1::Restart& to) {
  to.set_role(RoleToProto(from.role));
  to.set_index(from.index);
  to.set_died_us(absl::ToUnixMicros(from.died));
  to.set_rejoined_us(Micros(from.rejoined));
  to.set_producing_us(Micros(from.producing));
  to.set_reason(from.reason);
  to.set_train_steps_lost(from.train_steps_lost);
}

absl::StatusOr<Restart> RestartFrom(const v1::Restart& from) {
  const absl::StatusOr<Role> role = RoleFromProto(from.role());
  if (!role.ok()) return role.status();
  return Restart{.role = *role,
                 .index = from.index(),
                 .died = absl::FromUnixMicros(from.died_us()),
                 .rejoined = TimeFrom(from.rejoined_us()),
                 .producing = TimeFrom(from.producing_us()),
                 .reason = from.reason(),
                 .train_steps_lost = from.train_steps_lost()};
}

absl::Status CheckRunFolder(const std::string& folder) {
  if (folder.empty()) return absl::OkStatus();  // The server's choice.
  if (folder.front() == '/' && folder.size() <= kPathBytesMax &&
      folder.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("run_folder must be an absolute path of at most ",
                   kPathBytesMax, " bytes, got \"", folder, "\""));
}

}  // namespace

v1::Job JobToProto(const Job& job) {
  v1::Job to;
  to.set_job_id(job.job_id);
  *to.mutable_spec() = JobSpecToProto(job.spec);
  to.set_state(StateToProto(job.state));
  to.set_message(job.message);
  to.set_revision(job.revision);
  to.set_created_us(absl::ToUnixMicros(job.created));
  to.set_running_us(Micros(job.running));
  to.set_finished_us(Micros(job.finished));
  to.set_run_folder(job.run_folder);
  if (job.learner) *to.mutable_learner() = StatusToProto(*job.learner);
  for (const RolloutStatus& rollout : job.rollouts) {
    *to.add_rollouts() = StatusToProto(rollout);
  }
  if (job.buffer) *to.mutable_buffer() = StatusToProto(*job.buffer);
  to.mutable_restarts()->insert(job.restarts.begin(), job.restarts.end());
  for (const Evaluation& evaluation : job.evaluations) {
    Fill(evaluation, *to.add_evaluations());
  }
  if (job.evaluation) *to.mutable_evaluation() = StatusToProto(*job.evaluation);
  to.set_exit_code(job.exit_code);
  for (const Restart& restart : job.recoveries) {
    Fill(restart, *to.add_recoveries());
  }
  return to;
}

absl::StatusOr<Job> JobFromProto(const v1::Job& message) {
  absl::StatusOr<JobSpec> spec = JobSpecFromProto(message.spec());
  if (!spec.ok()) return spec.status();
  const absl::StatusOr<JobState> state = StateFromProto(message.state());
  if (!state.ok()) return state.status();
  Job to{.job_id = message.job_id(),
         .spec = *std::move(spec),
         .state = *state,
         .message = message.message(),
         .revision = message.revision(),
         .created = absl::FromUnixMicros(message.created_us()),
         .running = TimeFrom(message.running_us()),
         .finished = TimeFrom(message.finished_us()),
         .run_folder = message.run_folder(),
         .restarts = {message.restarts().begin(), message.restarts().end()},
         .exit_code = message.exit_code()};
  if (message.has_learner()) to.learner = StatusFromProto(message.learner());
  if (message.has_buffer()) to.buffer = StatusFromProto(message.buffer());
  if (message.has_evaluation()) {
    to.evaluation = StatusFromProto(message.evaluation());
  }
  for (const v1::RolloutStatus& rollout : message.rollouts()) {
    to.rollouts.push_back(StatusFromProto(rollout));
  }
  for (const v1::Evaluation& evaluation : message.evaluations()) {
    to.evaluations.push_back(EvaluationFrom(evaluation));
  }
  for (const v1::Restart& restart : message.recoveries()) {
    absl::StatusOr<Restart> converted = RestartFrom(restart);
    if (!converted.ok()) return converted.status();
    to.recoveries.push_back(*std::move(converted));
  }
  return to;
}

std::string JobBytes(const Job& job) {
  return JobToProto(job).SerializeAsString();
}

absl::StatusOr<Job> JobFromBytes(std::string_view bytes) {
  v1::Job message;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("Job", bytes, message));
  return JobFromProto(message);
}

v1::CreateJobRequest JobRequestToProto(const JobRequest& request) {
  v1::CreateJobRequest to;
  to.set_request_id(request.request_id);
  *to.mutable_spec() = JobSpecToProto(request.spec);
  to.set_run_folder(request.run_folder);
  to.set_resume(request.resume);
  to.set_validate_only(request.validate_only);
  return to;
}

absl::StatusOr<JobRequest> JobRequestFromProto(
    const v1::CreateJobRequest& message) {
  absl::StatusOr<JobSpec> spec = JobSpecFromProto(message.spec());
  if (!spec.ok()) {
    return absl::Status(spec.status().code(),
                        absl::StrCat("spec.", spec.status().message()));
  }
  FLYWHEEL_RETURN_IF_ERROR(CheckRunFolder(message.run_folder()));
  if (message.request_id().size() > kRequestIdBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("request_id must have at most ", kRequestIdBytesMax,
                     " bytes, got ", message.request_id().size()));
  }
  return JobRequest{.request_id = message.request_id(),
                    .spec = *std::move(spec),
                    .run_folder = message.run_folder(),
                    .resume = message.resume(),
                    .validate_only = message.validate_only()};
}

std::string JobRequestFingerprint(const JobRequest& request) {
  v1::CreateJobRequest message = JobRequestToProto(request);
  message.clear_request_id();
  message.clear_validate_only();
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

}  // namespace flywheel
