#pragma once

#include "services/core/job_status.h"

namespace flywheel {

// Follows one job.
class JobWatcher {
 public:
  virtual ~JobWatcher() = default;

  // The job changed. `last`: nothing more will come. Called from the
  // orchestrator's thread; must not wait.
  virtual void OnJob(const Job& job, bool last) = 0;
};

}  // namespace flywheel
