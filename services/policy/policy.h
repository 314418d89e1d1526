#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/core/job_spec.h"
#include "services/core/policy_snapshot.h"
#include "services/policy/acting_rows.h"
#include "services/policy/policy_shape.h"

namespace flywheel {

// A policy that acts: weights and observation statistics of one version.
//
// No torch type shows here, so callers need not link torch. The intra-op thread
// count of torch is process-wide: set it to 1 by SetPolicyThreads(1) before the
// first call, so that the same rows give the same bits in every process.
//
// Not thread-safe.
class Policy {
 public:
  // Returns InvalidArgument naming the field if `spec` does not fit `shape`.
  static absl::StatusOr<std::unique_ptr<Policy>> Create(
      const PolicySpec& spec, const PolicyShape& shape);

  virtual ~Policy() = default;

  // Acts with `snapshot` from now on. Returns InvalidArgument naming the
  // tensor, changing nothing, if it does not fit.
  virtual absl::Status Load(const PolicySnapshot& snapshot) = 0;

  // Fills actions, log_probability and value. The same weights and the same
  // rows in the same places of an equally long batch give the same bits. Spans
  // of wrong size, and acting before the first Load(), are our own bug: aborts
  // with a sentence.
  virtual void Act(const ActingRows& rows) = 0;

  virtual const PolicyShape& shape() const = 0;
};

// Threads inside torch's operations, for the whole process.
void SetPolicyThreads(int threads);

}  // namespace flywheel
