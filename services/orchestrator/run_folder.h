#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace flywheel {

// Makes `path` and the folders in it that the orchestrator's services write to:
// logs, evaluations. Unavailable, naming the folder, if that cannot be done.
absl::Status CreateRunFolder(const std::string& path);

// Whether the run folder `path` has a checkpoint or a recovery point, valid or
// not: something to go on from.
bool HasSavedState(const std::string& path);

// Keeps a run folder for one launcher and its services: two would overwrite
// each other's checkpoints.
//
// The lock belongs to an open file which the services inherit, so it is held
// until the last of them has ended, also where the launcher was killed.
class RunFolderLock {
 public:
  // Waits at most `limit` for services of a former launcher to end. Unavailable
  // if the folder is still in use.
  static absl::StatusOr<RunFolderLock> Acquire(const std::string& path,
                                               absl::Duration limit);

  RunFolderLock(RunFolderLock&& other) noexcept;
  RunFolderLock& operator=(RunFolderLock&&) = delete;
  ~RunFolderLock();

  int descriptor() const { return descriptor_; }

 private:
  explicit RunFolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace flywheel
