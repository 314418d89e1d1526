#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/core/mutex.h"

struct sqlite3;

namespace flywheel {

// A job as it is stored: its number and a serialized Job message.
struct JobRecord {
  std::string job_id;
  std::string job;
};

// The request that made a job, so that asking again makes no second one.
struct StoredRequest {
  std::string request_id;   // Empty: none was given.
  std::string fingerprint;  // Equal for equal requests.
  std::string job_id;       // That it made.
};

// Jobs in one SQLite file (WAL, synchronous=FULL): what Insert() and Update()
// returned OK for is there after a crash of the process or the machine. One
// process at a time may have the file open.
//
// Errors name the file: FailedPrecondition for one of another schema version,
// DataLoss for a damaged one, Unavailable where it is in use or the disk
// refuses. Thread-safe; a call waits for the disk, some milliseconds.
class JobStore {
 public:
  static absl::StatusOr<std::unique_ptr<JobStore>> Open(
      const std::string& path);

  ~JobStore();
  JobStore(const JobStore&) = delete;
  JobStore& operator=(const JobStore&) = delete;

  // Stores a new job and the request that made it, both or none. AlreadyExists
  // if the job or the request id is there.
  absl::Status Insert(const JobRecord& record, const StoredRequest& request);

  // Replaces a job. NotFound if it is not there.
  absl::Status Update(const JobRecord& record);

  // All jobs, oldest first.
  absl::StatusOr<std::vector<JobRecord>> Jobs();

  absl::StatusOr<std::optional<StoredRequest>> FindRequest(
      const std::string& request_id);

 private:
  JobStore(std::string path, sqlite3* database)
      : path_(std::move(path)), database_(database) {}

  absl::Status Prepare();
  absl::Status Execute(const char* sql) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InsertRows(const JobRecord& record, const StoredRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status CheckSchemaVersion() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Error(int code) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  class Statement;

  const std::string path_;
  Mutex mutex_;
  sqlite3* const database_ ABSL_PT_GUARDED_BY(mutex_);
};

}  // namespace flywheel
