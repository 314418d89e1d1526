#include "services/wire/unix_listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

constexpr int kBacklog = 256;  // Connections that wait to be accepted.

absl::Status CannotListen(const std::string& path, std::string_view reason) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot listen on \"", path,
                   "\": ", absl::string_view(reason.data(), reason.size())));
}

std::string ErrnoText() { return std::generic_category().message(errno); }

int UnixSocket() {
  return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

// Unlinks a socket file whose listener is gone.
absl::Status RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat file {};
  if (lstat(path.c_str(), &file) != 0) return absl::OkStatus();  // No file.
  if (!S_ISSOCK(file.st_mode)) {
    return CannotListen(path, "a file that is no socket has this name");
  }
  const int probe = UnixSocket();
  if (probe < 0) return CannotListen(path, ErrnoText());
  const int connected = connect(
      probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  const int error = errno;
  close(probe);
  // Only a refusal says that nobody listens; EAGAIN is a full backlog.
  if (connected == 0 || error != ECONNREFUSED) {
    return CannotListen(path, "a live process listens there");
  }
  unlink(path.c_str());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UnixListener> UnixListener::Listen(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return CannotListen(path, absl::StrCat("a socket path must have 1 to ",
                                           sizeof(address.sun_path) - 1,
                                           " bytes, got ", path.size()));
  }
  path.copy(address.sun_path, path.size());
  FLYWHEEL_RETURN_IF_ERROR(RemoveStale(path, address));

  const int descriptor = UnixSocket();
  if (descriptor < 0) return CannotListen(path, ErrnoText());
  UnixListener listener({}, descriptor);  // Closes where we return early.
  struct stat file {};
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address),
           sizeof(address)) != 0) {
    return CannotListen(path, ErrnoText());
  }
  listener.path_ = path;
  if (listen(descriptor, kBacklog) != 0 || lstat(path.c_str(), &file) != 0) {
    return CannotListen(path, ErrnoText());
  }
  listener.device_ = file.st_dev;
  listener.inode_ = file.st_ino;
  return listener;
}

UnixListener::UnixListener(UnixListener&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      descriptor_(std::exchange(other.descriptor_, -1)),
      device_(other.device_),
      inode_(other.inode_) {}

UnixListener& UnixListener::operator=(UnixListener&& other) noexcept {
  if (this == &other) return *this;
  Close();
  path_ = std::exchange(other.path_, {});
  descriptor_ = std::exchange(other.descriptor_, -1);
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

UnixListener::~UnixListener() { Close(); }

void UnixListener::Close() {
  struct stat file {};
  if (!path_.empty() && lstat(path_.c_str(), &file) == 0 &&
      file.st_dev == device_ && file.st_ino == inode_) {
    unlink(path_.c_str());
  }
  if (descriptor_ >= 0) close(descriptor_);
}

int UnixListener::Release() { return std::exchange(descriptor_, -1); }

}  // namespace flywheel
