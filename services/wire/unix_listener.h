#pragma once

#include <sys/types.h>

#include <string>

#include "absl/status/statusor.h"

namespace flywheel {

// A listening Unix socket and the file that names it.
//
// ZeroMQ would replace a file that a live process listens on, and would unlink
// its own at some later moment, when a successor may own the name. This class
// replaces only what a dead process left, and unlinks in its destructor.
//
// Not thread-safe.
class UnixListener {
 public:
  // InvalidArgument if `path` is too long, its folder is missing, something
  // else than a socket has the name, or a live process listens there.
  static absl::StatusOr<UnixListener> Listen(const std::string& path);

  UnixListener(UnixListener&& other) noexcept;
  UnixListener& operator=(UnixListener&& other) noexcept;
  ~UnixListener();  // Closes, and unlinks the file if it is still ours.

  // Gives the descriptor away; the file stays with this object.
  int Release();

 private:
  void Close();

  UnixListener(std::string path, int descriptor)
      : path_(std::move(path)), descriptor_(descriptor) {}

  std::string path_;  // Empty: moved from.
  int descriptor_ = -1;
  dev_t device_ = 0;  // Of the file, to know it again.
  ino_t inode_ = 0;
};

}  // namespace flywheel
