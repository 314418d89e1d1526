#include "services/orchestrator/jobs_service.h"

#include <memory>
#include <optional>
#include <utility>

#include "services/core/mutex.h"
#include "services/wire/job_codec.h"
#include "services/wire/status_codec.h"

namespace flywheel {
namespace {

absl::StatusOr<Job> Create(Orchestrator& orchestrator,
                           const v1::CreateJobRequest& request) {
  const absl::StatusOr<JobRequest> converted = JobRequestFromProto(request);
  if (!converted.ok()) return converted.status();
  return orchestrator.CreateJob(*converted);
}

grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                 const absl::StatusOr<Job>& job,
                                 v1::Job* response) {
  if (job.ok()) *response = JobToProto(*job);
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(job.status()));
  return reactor;
}

// Streams one job to one client. Never waits: what changes while a write is
// under way is sent as one newer job after it.
//
// Lives as long as the call does: gRPC's last word to it is OnDone().
class WatchReactor final : public grpc::ServerWriteReactor<v1::Job>,
                           public JobWatcher {
 public:
  static std::shared_ptr<WatchReactor> Make() {
    auto reactor = std::make_shared<WatchReactor>();
    reactor->self_ = reactor;
    return reactor;
  }

  void OnJob(const Job& job, bool last) override {
    MutexLock lock(mutex_);
    if (finished_) return;
    next_ = JobToProto(job);
    last_ = last;
    if (!writing_) WriteNext();
  }

  void End(const absl::Status& status) {
    MutexLock lock(mutex_);
    FinishOnce(ToGrpcStatus(status));
  }

  void OnWriteDone(bool ok) override {
    MutexLock lock(mutex_);
    writing_ = false;
    if (!ok) {
      FinishOnce(grpc::Status::CANCELLED);
    } else if (next_) {
      WriteNext();
    } else if (last_) {
      FinishOnce(grpc::Status::OK);
    }
  }

  void OnCancel() override {
    MutexLock lock(mutex_);
    FinishOnce(grpc::Status::CANCELLED);
  }

  void OnDone() override { self_.reset(); }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (finished_) return;
    under_way_ = *std::exchange(next_, std::nullopt);
    writing_ = true;
    StartWrite(&under_way_);  // Returns at once; OnWriteDone() comes later.
  }

  void FinishOnce(const grpc::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (!std::exchange(finished_, true)) Finish(status);
  }

  Mutex mutex_;
  std::optional<v1::Job> next_ ABSL_GUARDED_BY(mutex_);
  v1::Job under_way_ ABSL_GUARDED_BY(mutex_);  // gRPC's until OnWriteDone().
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool last_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;

  std::shared_ptr<WatchReactor> self_;
};

}  // namespace

grpc::ServerUnaryReactor* JobsService::CreateJob(
    grpc::CallbackServerContext* context, const v1::CreateJobRequest* request,
    v1::Job* response) {
  return Answer(context, Create(orchestrator_, *request), response);
}

grpc::ServerUnaryReactor* JobsService::GetJob(
    grpc::CallbackServerContext* context, const v1::GetJobRequest* request,
    v1::Job* response) {
  return Answer(context, orchestrator_.GetJob(request->job_id()), response);
}

grpc::ServerUnaryReactor* JobsService::ListJobs(
    grpc::CallbackServerContext* context, const v1::ListJobsRequest* request,
    v1::ListJobsResponse* response) {
  const absl::StatusOr<JobPage> page =
      orchestrator_.ListJobs(request->page_size(), request->page_token());
  if (page.ok()) {
    for (const Job& job : page->jobs) *response->add_jobs() = JobToProto(job);
    response->set_next_page_token(page->next_page_token);
  }

  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(page.status()));
  return reactor;
}

grpc::ServerUnaryReactor* JobsService::CancelJob(
    grpc::CallbackServerContext* context, const v1::CancelJobRequest* request,
    v1::Job* response) {
  return Answer(context, orchestrator_.CancelJob(request->job_id()), response);
}

grpc::ServerWriteReactor<v1::Job>* JobsService::WatchJob(
    grpc::CallbackServerContext*, const v1::WatchJobRequest* request) {
  const std::shared_ptr<WatchReactor> reactor = WatchReactor::Make();
  const absl::Status status = orchestrator_.WatchJob(
      request->job_id(), request->after_revision(), reactor);
  if (!status.ok()) reactor->End(status);
  return reactor.get();
}

}  // namespace flywheel
