#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/core/job_spec.h"

namespace flywheel {

// A job that can be submitted.
struct LoadedJob {
  JobSpec spec;
  std::string yaml;                   // The same, every default filled in.
  std::vector<std::string> warnings;  // One sentence each, with their places.
};

// Reads the job file at `path`, changes it by `overrides` ("path=value") and
// checks it. One sentence for what is wrong: NotFound or Unavailable for the
// file, InvalidArgument, with file, line, field, rule and value, for the job.
absl::StatusOr<LoadedJob> LoadJob(const std::filesystem::path& path,
                                  const std::vector<std::string>& overrides);

}  // namespace flywheel
