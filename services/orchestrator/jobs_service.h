#pragma once

#include "flywheel/v1/jobs.grpc.pb.h"
#include "services/orchestrator/orchestrator.h"

namespace flywheel {

// Jobs over gRPC: checks, converts, forwards, nothing else.
class JobsService final : public v1::Jobs::CallbackService {
 public:
  // `orchestrator` must outlive the server this service is registered with.
  explicit JobsService(Orchestrator& orchestrator)
      : orchestrator_(orchestrator) {}

  grpc::ServerUnaryReactor* CreateJob(grpc::CallbackServerContext* context,
                                      const v1::CreateJobRequest* request,
                                      v1::Job* response) override;

  grpc::ServerUnaryReactor* GetJob(grpc::CallbackServerContext* context,
                                   const v1::GetJobRequest* request,
                                   v1::Job* response) override;

  grpc::ServerUnaryReactor* ListJobs(grpc::CallbackServerContext* context,
                                     const v1::ListJobsRequest* request,
                                     v1::ListJobsResponse* response) override;

  grpc::ServerUnaryReactor* CancelJob(grpc::CallbackServerContext* context,
                                      const v1::CancelJobRequest* request,
                                      v1::Job* response) override;

  grpc::ServerWriteReactor<v1::Job>* WatchJob(
      grpc::CallbackServerContext* context,
      const v1::WatchJobRequest* request) override;

 private:
  Orchestrator& orchestrator_;
};

}  // namespace flywheel
