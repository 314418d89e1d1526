#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/core/job_spec.h"

namespace flywheel {

namespace v1 {
class JobSpec;  // flywheel/v1/job.pb.h
}

// A JobSpec message and the struct of the same name. Everything that comes in
// passes ResolveJob(), so a struct that came from here keeps to every rule.
// InvalidArgument otherwise. This header may meet torch: it includes no
// Protobuf.

absl::StatusOr<JobSpec> JobSpecFromProto(const v1::JobSpec& message);
v1::JobSpec JobSpecToProto(const JobSpec& job);

// The same as a checkpoint's job.pb holds it.
absl::StatusOr<JobSpec> JobSpecFromBytes(std::string_view bytes);
std::string JobSpecBytes(const JobSpec& job);

}  // namespace flywheel
