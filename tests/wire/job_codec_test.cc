#include "services/wire/job_codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "flywheel/v1/jobs.pb.h"
#include "services/wire/membership_codec.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

Job SampleJob() {
  Job job{.job_id = "reach-1",
          .state = JobState::kRecovering,
          .message = "replacing rollout-0 (signal 9)",
          .revision = 12,
          .created = absl::FromUnixSeconds(100),
          .running = absl::FromUnixSeconds(101),
          .run_folder = "/runs/reach",
          .restarts = {{"rollout", 2}},
          .exit_code = 3};
  job.spec.task = "tabletop/reach";
  job.spec.budget.seconds = 60;
  job.learner = LearnerStatus{.phase = LearnerPhase::kImitating,
                              .progress = 0.5,
                              .train_steps = 7,
                              .policy_lag_counts = {{0, 5}, {4, 1}},
                              .seconds_by_cause = {{"busy", 1.5}},
                              .evaluation_checkpoints = {"step-1"},
                              .interrupted = true};
  job.rollouts = {RolloutStatus{.environment_steps = 5,
                                .policy_version = 3,
                                .drops = {{"revoked", 2}}},
                  RolloutStatus{}};
  job.buffer = BufferStatus{.items = 4, .train_step = 8};
  job.evaluations = {Evaluation{.checkpoint = "step-1", .final = true}};
  job.evaluation = EvaluationStatus{.episodes = 1, .episodes_total = 9};
  job.recoveries = {Restart{.role = Role::kLearner,
                            .died = absl::FromUnixSeconds(200),
                            .rejoined = absl::FromUnixSeconds(201),
                            .reason = "signal 9",
                            .train_steps_lost = 11}};
  return job;
}

TEST(JobCodecTest, AJobComesBackFromItsBytes) {
  const std::string bytes = JobBytes(SampleJob());
  const absl::StatusOr<Job> job = JobFromBytes(bytes);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state, JobState::kRecovering);
  EXPECT_EQ(job->running, absl::FromUnixSeconds(101));
  EXPECT_FALSE(job->finished.has_value());
  EXPECT_EQ(job->learner->phase, LearnerPhase::kImitating);
  EXPECT_TRUE(std::isnan(job->learner->episode_return_mean));
  EXPECT_EQ(job->learner->policy_lag_counts.at(4), 1);
  EXPECT_EQ(job->rollouts[0].drops.at("revoked"), 2);
  EXPECT_EQ(job->rollouts[1].policy_version, -1);
  EXPECT_TRUE(std::isnan(job->evaluations[0].success_rate));
  EXPECT_EQ(job->recoveries[0].role, Role::kLearner);
  EXPECT_FALSE(job->recoveries[0].producing.has_value());
  EXPECT_EQ(JobToProto(*job).DebugString(),
            JobToProto(SampleJob()).DebugString());
}

TEST(JobCodecTest, AStateNobodyKnowsIsRefused) {
  v1::Job message = JobToProto(SampleJob());
  message.set_state(v1::JOB_STATE_UNSPECIFIED);
  EXPECT_TRUE(Contains(JobFromProto(message).status().message(),
                       "state must be one of JobState, got number 0"));
}

v1::CreateJobRequest SampleRequest() {
  return JobRequestToProto(
      {.request_id = "r", .spec = SampleJob().spec, .run_folder = "/runs/x"});
}

TEST(JobCodecTest, ARequestIsCheckedFieldByField) {
  ASSERT_TRUE(JobRequestFromProto(SampleRequest()).ok());
  v1::CreateJobRequest request = SampleRequest();
  request.set_run_folder("relative/path");
  EXPECT_TRUE(Contains(JobRequestFromProto(request).status().message(),
                       "run_folder must be an absolute path of at most 4096 "
                       "bytes, got \"relative/path\""));
  request = SampleRequest();
  request.set_request_id(std::string(129, 'r'));
  EXPECT_TRUE(Contains(JobRequestFromProto(request).status().message(),
                       "request_id must have at most 128 bytes, got 129"));
  request = SampleRequest();
  request.mutable_spec()->mutable_algorithm()->set_epochs(0);
  EXPECT_TRUE(Contains(JobRequestFromProto(request).status().message(),
                       "spec.algorithm.epochs must be a whole number from 1 "
                       "to 100, got 0"));
}

TEST(JobCodecTest, RequestsForTheSameHaveTheSameFingerprint) {
  const JobRequest request{.request_id = "1", .spec = SampleJob().spec};
  JobRequest same = request;
  same.request_id = "2";
  EXPECT_EQ(JobRequestFingerprint(request), JobRequestFingerprint(same));
  JobRequest other = request;
  other.spec.seed = 2;
  EXPECT_NE(JobRequestFingerprint(request), JobRequestFingerprint(other));
  other = request;
  other.resume = true;
  EXPECT_NE(JobRequestFingerprint(request), JobRequestFingerprint(other));
}

TEST(MembershipCodecTest, AMemberIsCheckedFieldByField) {
  const v1::Member good =
      MemberToProto({.role = Role::kLearner, .index = 2, .incarnation = 5});
  EXPECT_EQ(*MemberFromProto(good),
            (Member{.role = Role::kLearner, .index = 2, .incarnation = 5}));
  v1::Member message = good;
  message.set_role(v1::ROLE_UNSPECIFIED);
  EXPECT_TRUE(Contains(MemberFromProto(message).status().message(),
                       "member.role must be ROLLOUT, BUFFER, LEARNER or "
                       "EVALUATION, got number 0"));
  message = good;
  message.set_index(-1);
  EXPECT_TRUE(Contains(MemberFromProto(message).status().message(),
                       "member.index must be from 0 to 1000000, got -1"));
  message = good;
  message.set_incarnation(0);
  EXPECT_TRUE(Contains(MemberFromProto(message).status().message(),
                       "member.incarnation must be from 1 to"));
}

TEST(MembershipCodecTest, AHeartbeatKeepsTheStatusOfItsRole) {
  const Heartbeat heartbeat{
      .job_id = "j",
      .member = {.role = Role::kBuffer, .incarnation = 1},
      .status = BufferStatus{.credits_out = 3, .seconds_by_cause = {{"x", 2}}}};
  const absl::StatusOr<Heartbeat> back =
      HeartbeatFromProto(HeartbeatToProto(heartbeat));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(std::get<BufferStatus>(back->status).credits_out, 3);
  const absl::StatusOr<Heartbeat> silent = HeartbeatFromProto(HeartbeatToProto(
      {.job_id = "j", .member = {.role = Role::kRollout, .incarnation = 1}}));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(silent->status));
}

TEST(MembershipCodecTest, AnAssignmentWithABadJobNamesTheField) {
  Assignment assignment{.run_folder = "/r", .elapsed_seconds = 2.5};
  assignment.job.task = "t";
  assignment.job.budget.seconds = 1;
  v1::RegisterResponse message = AssignmentToProto(assignment);
  EXPECT_EQ(AssignmentFromProto(message)->elapsed_seconds, 2.5);
  message.mutable_job()->clear_task();
  EXPECT_TRUE(Contains(AssignmentFromProto(message).status().message(),
                       "job.task must be given"));
  message = AssignmentToProto(assignment);
  message.set_elapsed_seconds(std::nan(""));
  EXPECT_TRUE(Contains(AssignmentFromProto(message).status().message(),
                       "elapsed_seconds must be finite"));
}

}  // namespace
}  // namespace flywheel
