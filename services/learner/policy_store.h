#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "absl/base/thread_annotations.h"
#include "services/core/mutex.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// The newest published policy versions. A version is immutable: publishing a
// number again is only accepted with the same bytes.
//
// Thread-safe: the training thread publishes, the serving thread reads.
class PolicyStore {
 public:
  explicit PolicyStore(std::size_t keep = 4) : keep_(keep) {}

  // False, changing nothing, if the version is not newer than the newest one:
  // a version once published cannot be replaced.
  [[nodiscard]] bool Publish(PolicySnapshotPtr snapshot);

  // The newest version; null before the first.
  PolicySnapshotPtr Newest() const;

  // A version that is still kept; null otherwise.
  PolicySnapshotPtr Find(PolicyVersion version) const;

 private:
  // Constant after construction.
  const std::size_t keep_;

  mutable Mutex mutex_;
  std::deque<PolicySnapshotPtr> versions_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flywheel
