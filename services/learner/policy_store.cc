#include "services/learner/policy_store.h"

#include <utility>

namespace flywheel {

bool PolicyStore::Publish(PolicySnapshotPtr snapshot) {
  MutexLock lock(mutex_);
  if (!versions_.empty() && snapshot->version <= versions_.back()->version) {
    return false;
  }
  versions_.push_back(std::move(snapshot));
  if (versions_.size() > keep_) versions_.pop_front();
  return true;
}

PolicySnapshotPtr PolicyStore::Newest() const {
  MutexLock lock(mutex_);
  return versions_.empty() ? nullptr : versions_.back();
}

PolicySnapshotPtr PolicyStore::Find(PolicyVersion version) const {
  MutexLock lock(mutex_);
  for (const PolicySnapshotPtr& snapshot : versions_) {
    if (snapshot->version == version) return snapshot;
  }
  return nullptr;
}

}  // namespace flywheel
