#include "services/orchestrator/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

// Locks have no wait with a deadline.
constexpr absl::Duration kLockPause = absl::Milliseconds(50);

}  // namespace

absl::Status CreateRunFolder(const std::string& path) {
  for (const char* const name : {"logs", "evaluations"}) {
    std::error_code error;
    fs::create_directories(fs::path(path) / name, error);
    if (error) {
      return absl::UnavailableError(absl::StrCat(
          "cannot create run folder ", path, "/", name, ": ", error.message()));
    }
  }
  return absl::OkStatus();
}

bool HasSavedState(const std::string& path) {
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(fs::path(path) / "checkpoints", error)) {
    const fs::path name = entry.path().filename();
    if (entry.is_directory(error) && name.extension() != ".partial") {
      return true;
    }
  }
  const fs::path recovery = fs::path(path) / "recovery";
  return fs::is_directory(recovery, error) && !fs::is_empty(recovery, error);
}

absl::StatusOr<RunFolderLock> RunFolderLock::Acquire(const std::string& path,
                                                     absl::Duration limit) {
  const std::string file = path + "/.lock";
  const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot open ", file, ": ", std::strerror(errno)));
  }
  RunFolderLock lock(descriptor);
  const absl::Time deadline = absl::Now() + limit;
  while (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return absl::UnavailableError(
          absl::StrCat("cannot lock ", file, ": ", std::strerror(errno)));
    }
    if (absl::Now() >= deadline) {
      return absl::UnavailableError(
          absl::StrCat("run folder ", path,
                       " is in use by another run, or by services of one that "
                       "are still stopping"));
    }
    absl::SleepFor(kLockPause);
  }
  return lock;
}

RunFolderLock::RunFolderLock(RunFolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunFolderLock::~RunFolderLock() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace flywheel
