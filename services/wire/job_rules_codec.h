#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "flywheel/v1/job.pb.h"

namespace flywheel {

// A job with every default filled in, which keeps to every rule.
struct ResolvedJob {
  v1::JobSpec spec;
  std::vector<std::string> warnings;  // A sentence each; the job can run.
};

// Fills defaults in and checks every field's (rule) and the rules between
// fields. A resolved job resolves to itself.
//
// InvalidArgument with the first thing that is wrong, in one sentence that
// begins with the field's path: "algorithm.batch_credits must be a whole number
// from 1 to 65536, got 0".
absl::StatusOr<ResolvedJob> ResolveJob(const v1::JobSpec& given);

}  // namespace flywheel
