#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace flywheel {

// The right to write to a folder, held by one process at a time: flock on its
// file LOCK, which also names the holder's process id. The kernel gives it back
// when the process ends, however it ends.
class FolderLock {
 public:
  // FailedPrecondition naming the holder's pid if another one has it.
  static absl::StatusOr<FolderLock> Take(const std::string& folder);

  ~FolderLock();
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}

  int file_;  // -1: moved from.
};

}  // namespace flywheel
