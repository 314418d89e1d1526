#include "services/wire/jobs_client.h"

#include <chrono>
#include <utility>

#include "absl/time/clock.h"
#include "flywheel/v1/jobs.grpc.pb.h"
#include "services/core/mutex.h"
#include "services/wire/control_channel_client.h"
#include "services/wire/job_codec.h"
#include "services/wire/status_codec.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr absl::Duration kRetryPause = absl::Milliseconds(200);

class GrpcJobsClient final : public JobsClient {
 public:
  explicit GrpcJobsClient(const Options& options)
      : options_(options),
        stub_(v1::Jobs::NewStub(OpenControlChannel(options.orchestrator))) {}

  absl::StatusOr<Job> CreateJob(const JobRequest& request) override {
    return Call(&v1::Jobs::Stub::CreateJob, JobRequestToProto(request));
  }

  absl::StatusOr<Job> GetJob(const std::string& job_id) override {
    v1::GetJobRequest request;
    request.set_job_id(job_id);
    return Call(&v1::Jobs::Stub::GetJob, request);
  }

  absl::StatusOr<Job> CancelJob(const std::string& job_id) override {
    v1::CancelJobRequest request;
    request.set_job_id(job_id);
    return Call(&v1::Jobs::Stub::CancelJob, request);
  }

  absl::StatusOr<Job> WatchJob(const std::string& job_id,
                               const std::function<void(const Job&)>& on_job,
                               std::stop_token stop) override {
    SteadyClock::time_point heard = SteadyClock::now();
    int64_t revision = 0;
    for (;;) {
      const absl::StatusOr<Job> job =
          WatchOnce(job_id, revision, stop, [&](const Job& news) {
            heard = SteadyClock::now();
            revision = news.revision;
            on_job(news);
          });
      if (stop.stop_requested()) {
        return absl::CancelledError("stopped watching");
      }
      const absl::Duration away = absl::FromChrono(SteadyClock::now() - heard);
      if (job.ok() || !absl::IsUnavailable(job.status()) ||
          away > options_.away_limit) {
        return job;
      }
      absl::SleepFor(kRetryPause);
    }
  }

 private:
  template <typename Request>
  absl::StatusOr<Job> Call(grpc::Status (v1::Jobs::Stub::*method)(
                               grpc::ClientContext*, const Request&, v1::Job*),
                           const Request& request) {
    grpc::ClientContext context;
    SetDeadline(context, options_.call_deadline);
    context.set_wait_for_ready(true);
    v1::Job response;
    const grpc::Status status =
        ((*stub_).*method)(&context, request, &response);
    if (!status.ok()) return FromGrpcStatus(status);
    return JobFromProto(response);
  }

  // One stream: the ended job, or why the stream ended before.
  absl::StatusOr<Job> WatchOnce(const std::string& job_id, int64_t revision,
                                const std::stop_token& stop,
                                const std::function<void(const Job&)>& on_job) {
    grpc::ClientContext context;  // Without a deadline: it ends with the job.
    const std::stop_callback cancel(stop, [&] { context.TryCancel(); });
    v1::WatchJobRequest request;
    request.set_job_id(job_id);
    request.set_after_revision(revision);
    const auto stream = stub_->WatchJob(&context, request);
    v1::Job message;
    while (stream->Read(&message)) {
      const absl::StatusOr<Job> job = JobFromProto(message);
      if (!job.ok()) return job;
      on_job(*job);
      if (IsFinal(job->state)) return job;
    }
    const grpc::Status status = stream->Finish();
    return status.ok() ? absl::UnavailableError("the stream of news ended")
                       : FromGrpcStatus(status);
  }

  const Options options_;
  const std::unique_ptr<v1::Jobs::Stub> stub_;
};

}  // namespace

std::unique_ptr<JobsClient> JobsClient::Create(const Options& options) {
  return std::make_unique<GrpcJobsClient>(options);
}

}  // namespace flywheel
