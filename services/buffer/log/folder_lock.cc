#include "services/buffer/log/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

std::string HolderOf(int file) {
  char text[32];
  const ssize_t bytes = pread(file, text, sizeof(text), 0);
  const absl::string_view pid = absl::StripAsciiWhitespace(
      absl::string_view(text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0));
  return pid.empty() ? "another process" : absl::StrCat("process ", pid);
}

}  // namespace

absl::StatusOr<FolderLock> FolderLock::Take(const std::string& folder) {
  const std::string path = folder + "/LOCK";
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (file < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", path, ": ", std::strerror(errno)));
  }
  FolderLock lock(file);
  if (flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return absl::UnavailableError(
          absl::StrCat("cannot lock ", path, ": ", std::strerror(errno)));
    }
    return absl::FailedPreconditionError(
        absl::StrCat("folder ", folder, " is written by ", HolderOf(file),
                     "; a log has one writer"));
  }
  const std::string pid = absl::StrCat(getpid(), "\n");
  // Only for people: on a full disk the lock holds all the same.
  if (ftruncate(file, 0) == 0) (void)!pwrite(file, pid.data(), pid.size(), 0);
  return lock;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : file_(std::exchange(other.file_, -1)) {}

FolderLock::~FolderLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace flywheel
