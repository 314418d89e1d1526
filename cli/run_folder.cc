#include "cli/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/text_checks.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

// A launcher that was killed a moment ago may not have ended yet.
constexpr absl::Duration kLockLimit = absl::Seconds(2);
constexpr absl::Duration kLockPause = absl::Milliseconds(20);

// runs/<name>-<date>-<time>, with a number behind it if that is taken.
fs::path DefaultPath(const std::string& name, absl::Time now) {
  const std::string first = absl::StrCat(
      "runs/", name, "-",
      absl::FormatTime("%Y%m%d-%H%M%S", now, absl::LocalTimeZone()));
  fs::path path = first;
  std::error_code error;
  for (int i = 2; fs::exists(path, error) && i < 1000; ++i) {
    path = absl::StrCat(first, "-", i);
  }
  return path;
}

absl::Status CheckEmpty(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::is_empty(path, error)) {
    return absl::OkStatus();
  }
  if (!fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--output ", path.string(), ": a file, not a folder"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "--output ", path.string(), ": not empty; choose another folder, or go ",
      "on with the run in it: --resume ", ShellQuoted(path.string())));
}

}  // namespace

absl::Status CheckRunFolder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return absl::NotFoundError(absl::StrCat(folder, ": no such folder"));
  }
  if (!fs::exists(fs::path(folder) / "job.yaml", error)) {
    return absl::NotFoundError(
        absl::StrCat(folder, ": no run folder, it has no job.yaml"));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunFolder> RunFolder::Create(const std::string& output,
                                            const std::string& name,
                                            absl::Time now) {
  const fs::path path =
      output.empty() ? DefaultPath(name, now) : fs::path(output);
  FLYWHEEL_RETURN_IF_ERROR(CheckEmpty(path));
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--output ", path.string(), ": cannot be made: ", error.message()));
  }
  return Lock(path);
}

absl::StatusOr<RunFolder> RunFolder::Open(const std::string& folder) {
  FLYWHEEL_RETURN_IF_ERROR(CheckRunFolder(folder));
  return Lock(folder);
}

absl::StatusOr<RunFolder> RunFolder::Lock(fs::path path) {
  const int lock = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const absl::Time deadline = absl::Now() + kLockLimit;
  bool locked = false;
  while (lock >= 0 && !locked) {
    locked = flock(lock, LOCK_EX | LOCK_NB) == 0;
    if (locked) return RunFolder(std::move(path), lock);
    if (errno != EWOULDBLOCK || absl::Now() >= deadline) break;
    absl::SleepFor(kLockPause);
  }
  const int reason = errno;
  if (lock >= 0) close(lock);
  return absl::UnavailableError(
      reason == EWOULDBLOCK
          ? absl::StrCat(path.string(),
                         ": another flywheel is working in this folder")
          : absl::StrCat(path.string(), ": ", std::strerror(reason)));
}

RunFolder::RunFolder(RunFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunFolder::~RunFolder() {
  if (lock_ >= 0) close(lock_);
}

fs::path RunFolder::absolute() const {
  std::error_code error;
  const fs::path absolute = fs::absolute(path_, error);
  return absolute.lexically_normal();
}

}  // namespace flywheel
