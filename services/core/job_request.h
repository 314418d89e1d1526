#pragma once

#include <string>

#include "services/core/job_spec.h"

namespace flywheel {

// What a client asks for when it creates a job; jobs.proto says what the fields
// mean.
struct JobRequest {
  std::string request_id;
  JobSpec spec;
  std::string run_folder;
  bool resume = false;
  bool validate_only = false;
};

}  // namespace flywheel
