#pragma once

#include <filesystem>
#include <map>
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
  // What checkpoints of the job are made for: the values, as YAML, of "task"
  // and of the fields of policy, by path.
  std::map<std::string, std::string> network;
};

// InvalidArgument, naming the first field that differs, if `job` cannot go on
// from checkpoints of `before`.
absl::Status CheckResumable(const LoadedJob& before, const LoadedJob& job);

// Reads the job file at `path`, changes it by `overrides` ("path=value") and
// checks it. One sentence for what is wrong: NotFound or Unavailable for the
// file, InvalidArgument, with file, line, field, rule and value, for the job.
absl::StatusOr<LoadedJob> LoadJob(const std::filesystem::path& path,
                                  const std::vector<std::string>& overrides);

}  // namespace flywheel
