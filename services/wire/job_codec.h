#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/core/job_request.h"
#include "services/core/job_status.h"

namespace flywheel {

namespace v1 {
class CreateJobRequest;  // flywheel/v1/jobs.pb.h
class Job;
}  // namespace v1

// Messages of jobs.proto and their structs. What comes in is checked:
// InvalidArgument names the field, the rule and the value.

v1::Job JobToProto(const Job& job);
absl::StatusOr<Job> JobFromProto(const v1::Job& message);

// The same, as the job store holds it.
std::string JobBytes(const Job& job);
absl::StatusOr<Job> JobFromBytes(std::string_view bytes);

v1::CreateJobRequest JobRequestToProto(const JobRequest& request);
absl::StatusOr<JobRequest> JobRequestFromProto(
    const v1::CreateJobRequest& message);

// Equal for requests that ask for the same; the request id is not part of it.
std::string JobRequestFingerprint(const JobRequest& request);

}  // namespace flywheel
