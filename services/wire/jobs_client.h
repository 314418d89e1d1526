#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/job_request.h"
#include "services/core/job_status.h"

namespace flywheel {

// Submits and follows jobs at an orchestrator.
//
// Errors are the orchestrator's own, or Unavailable and DeadlineExceeded where
// it did not answer. Thread-safe.
class JobsClient {
 public:
  struct Options {
    std::string orchestrator;  // "unix:/tmp/x/orchestrator.sock", "host:port".
    absl::Duration call_deadline = absl::Seconds(10);
    // How long Watch() tries to reach an orchestrator that is away.
    absl::Duration away_limit = absl::Seconds(10);
  };

  static std::unique_ptr<JobsClient> Create(const Options& options);
  virtual ~JobsClient() = default;

  virtual absl::StatusOr<Job> CreateJob(const JobRequest& request) = 0;
  virtual absl::StatusOr<Job> GetJob(const std::string& job_id) = 0;
  virtual absl::StatusOr<Job> CancelJob(const std::string& job_id) = 0;

  // Calls `on_job` in this thread for every news of the job, the present state
  // first, and returns the job once it has ended. Connects again where the
  // connection broke. Cancelled: `stop` was requested.
  virtual absl::StatusOr<Job> WatchJob(
      const std::string& job_id, const std::function<void(const Job&)>& on_job,
      std::stop_token stop) = 0;
};

}  // namespace flywheel
