#pragma once

#include <string>

#include "absl/status/statusor.h"

namespace flywheel {

// The folder of mode 0700 in which one launcher's processes meet over Unix
// sockets: flywheel-<pid>-XXXXXX in $XDG_RUNTIME_DIR, else in /tmp.
//
// The destructor removes it with all sockets in it. When the launcher was
// killed, whichever process ends last removes it (RemoveDeadSockets), and if
// all were killed, the next launcher does.
class SocketFolder {
 public:
  // Makes one, after removing those of this user's dead launchers.
  // Unavailable: no place for one. InvalidArgument: its path would be too long
  // for a socket.
  static absl::StatusOr<SocketFolder> Create();

  SocketFolder(SocketFolder&& other) noexcept;
  SocketFolder& operator=(SocketFolder&&) = delete;
  ~SocketFolder();

  // The path of the socket `name` in it.
  std::string Path(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  explicit SocketFolder(std::string path) : path_(std::move(path)) {}

  std::string path_;  // Empty: moved from.
};

// Unlinks every socket in `folder` that nobody listens on, and then the folder
// if nothing is left in it. Does nothing to a folder that is not called
// flywheel-<pid>-... or is not this user's.
void RemoveDeadSockets(const std::string& folder);

// Whether a process listens on the Unix socket `path`.
bool SomebodyListens(const std::string& path);

}  // namespace flywheel
