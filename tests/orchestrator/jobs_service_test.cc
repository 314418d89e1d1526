#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>

#include "services/wire/job_codec.h"
#include "services/wire/jobs_client.h"
#include "tests/orchestrator/running_orchestrator.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

// Calls over the channel inside this process.
class JobsServiceTest : public ::testing::Test {
 protected:
  JobsServiceTest()
      : stub_(v1::Jobs::NewStub(running_.server().InProcessChannel())) {}

  static v1::CreateJobRequest CreateRequest() {
    return JobRequestToProto(RunningOrchestrator::SmallRequest());
  }

  v1::Job Create() {
    v1::Job job;
    grpc::ClientContext context;
    Limit(context);
    EXPECT_TRUE(stub_->CreateJob(&context, CreateRequest(), &job).ok());
    return job;
  }

  static void Limit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(10));
  }

  RunningOrchestrator running_;
  const std::unique_ptr<v1::Jobs::Stub> stub_;
};

TEST_F(JobsServiceTest, CreatesGetsListsAndCancels) {
  const v1::Job created = Create();
  EXPECT_EQ(created.state(), v1::JOB_STATE_PENDING);
  EXPECT_EQ(created.spec().algorithm().batch_credits(), 16) << "resolved";

  v1::GetJobRequest get;
  get.set_job_id(created.job_id());
  v1::Job job;
  grpc::ClientContext get_context;
  Limit(get_context);
  ASSERT_TRUE(stub_->GetJob(&get_context, get, &job).ok());
  EXPECT_EQ(job.job_id(), created.job_id());

  v1::ListJobsResponse list;
  grpc::ClientContext list_context;
  Limit(list_context);
  ASSERT_TRUE(stub_->ListJobs(&list_context, {}, &list).ok());
  EXPECT_EQ(list.jobs_size(), 1);

  v1::CancelJobRequest cancel;
  cancel.set_job_id(created.job_id());
  grpc::ClientContext cancel_context;
  Limit(cancel_context);
  EXPECT_TRUE(stub_->CancelJob(&cancel_context, cancel, &job).ok());
}

TEST_F(JobsServiceTest, AWrongJobIsInvalidArgumentWithASentence) {
  v1::CreateJobRequest request = CreateRequest();
  request.mutable_spec()->mutable_algorithm()->set_unroll_length(0);
  v1::Job job;
  grpc::ClientContext context;
  Limit(context);
  const grpc::Status status = stub_->CreateJob(&context, request, &job);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(),
            "spec.algorithm.unroll_length must be a whole number from 1 to "
            "65536, got 0");
}

TEST_F(JobsServiceTest, UnknownJobsAreNotFound) {
  v1::GetJobRequest get;
  get.set_job_id("nobody");
  v1::Job job;
  grpc::ClientContext context;
  Limit(context);
  EXPECT_EQ(stub_->GetJob(&context, get, &job).error_code(),
            grpc::StatusCode::NOT_FOUND);

  v1::WatchJobRequest watch;
  watch.set_job_id("nobody");
  grpc::ClientContext watch_context;
  Limit(watch_context);
  const auto stream = stub_->WatchJob(&watch_context, watch);
  EXPECT_FALSE(stream->Read(&job));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::NOT_FOUND);
}

TEST_F(JobsServiceTest, WatchSendsEveryStateAndEndsWithTheJob) {
  const v1::Job created = Create();
  v1::WatchJobRequest request;
  request.set_job_id(created.job_id());
  grpc::ClientContext context;
  Limit(context);
  const auto stream = stub_->WatchJob(&context, request);
  v1::Job job;
  ASSERT_TRUE(stream->Read(&job)) << "the present state comes first";
  ASSERT_TRUE(running_.orchestrator().CancelJob(created.job_id()).ok());
  int64_t revision = 0;
  do {
    EXPECT_GT(job.revision(), revision);
    revision = job.revision();
  } while (stream->Read(&job));
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST_F(JobsServiceTest, AWatcherThatLeavesDisturbsNobody) {
  const v1::Job created = Create();
  for (int i = 0; i < 20; ++i) {
    v1::WatchJobRequest request;
    request.set_job_id(created.job_id());
    grpc::ClientContext context;
    Limit(context);
    const auto stream = stub_->WatchJob(&context, request);
    v1::Job job;
    if (i % 2 == 0) {
      ASSERT_TRUE(stream->Read(&job));
    }
    context.TryCancel();
    while (stream->Read(&job)) {
    }
    EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_TRUE(running_.orchestrator().CancelAll(absl::Seconds(10)));
}

// Over the socket, as the command line uses it.
class JobsClientTest : public ::testing::Test {
 protected:
  RunningOrchestrator running_;
  const std::unique_ptr<JobsClient> client_ =
      JobsClient::Create({.orchestrator = running_.target()});
};

TEST_F(JobsClientTest, FollowsAJobToItsEnd) {
  const absl::StatusOr<Job> created =
      client_->CreateJob(RunningOrchestrator::SmallRequest());
  ASSERT_TRUE(created.ok()) << created.status();
  std::vector<JobState> states;
  const absl::StatusOr<Job> ended =
      client_->WatchJob(created->job_id,
                        [&](const Job& job) {
                          if (states.empty()) {
                            ASSERT_TRUE(client_->CancelJob(job.job_id).ok());
                          }
                          states.push_back(job.state);
                        },
                        {});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->state, JobState::kCancelled);
  EXPECT_EQ(states.back(), JobState::kCancelled);
  EXPECT_EQ(client_->GetJob(created->job_id)->state, JobState::kCancelled);
}

TEST_F(JobsClientTest, ErrorsAreTheOrchestrators) {
  JobRequest request = RunningOrchestrator::SmallRequest();
  request.resume = true;
  const absl::Status status = client_->CreateJob(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(status.message(), "has no checkpoint to resume from"));
}

TEST_F(JobsClientTest, WatchingEndsWhenAskedTo) {
  const Job job = *client_->CreateJob(RunningOrchestrator::SmallRequest());
  std::stop_source stop;
  const absl::StatusOr<Job> ended = client_->WatchJob(
      job.job_id, [&](const Job&) { stop.request_stop(); }, stop.get_token());
  EXPECT_EQ(ended.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(JobsClientTest, WatchingGoesOnAfterTheConnectionBroke) {
  const Job job = *client_->CreateJob(RunningOrchestrator::SmallRequest());
  ASSERT_TRUE(running_.placement().AwaitStarts(3));
  bool broken = false;
  const absl::StatusOr<Job> ended = client_->WatchJob(
      job.job_id,
      [&](const Job& news) {
        if (broken) return;
        broken = true;
        running_.StopServer();
        running_.StartServer();
        ASSERT_TRUE(running_.orchestrator().CancelJob(news.job_id).ok());
      },
      {});
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->state, JobState::kCancelled);
}

TEST_F(JobsClientTest, AnOrchestratorThatIsAwayIsUnavailable) {
  const auto client = JobsClient::Create({.orchestrator = "unix:/no/such.sock",
                                          .call_deadline = absl::Seconds(1),
                                          .away_limit = absl::ZeroDuration()});
  EXPECT_EQ(client->GetJob("x").status().code(),
            absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(client->WatchJob("x", [](const Job&) {}, {}).status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace flywheel
