#include "cli/file_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

// Writes everything and waits until it is on the disk.
bool WriteAll(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return fsync(descriptor) == 0;
}

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::filesystem::path& path,
                                     std::size_t bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": a folder, not a file"));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno;
    const std::string sentence =
        absl::StrCat(path.string(), ": ", std::strerror(reason));
    if (reason == ENOENT || reason == ENOTDIR) {
      return absl::NotFoundError(absl::StrCat(path.string(), ": no such file"));
    }
    return reason == EACCES ? absl::PermissionDeniedError(sentence)
                            : absl::UnavailableError(sentence);
  }
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > bytes_max) {
    return absl::InvalidArgumentError(
        absl::StrCat(path.string(), ": larger than ", bytes_max, " bytes"));
  }
  return text;
}

absl::Status WriteFileAtomically(const std::filesystem::path& path,
                                 std::string_view text) {
  const std::string beside = absl::StrCat(path.string(), ".", getpid(), ".new");
  const int descriptor =
      open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  bool done = descriptor >= 0 && WriteAll(descriptor, text);
  int reason = errno;
  if (descriptor >= 0) close(descriptor);
  if (done && rename(beside.c_str(), path.c_str()) != 0) {
    done = false;
    reason = errno;
  }
  if (done) return absl::OkStatus();
  unlink(beside.c_str());
  return absl::UnavailableError(absl::StrCat("cannot write ", path.string(),
                                             ": ", std::strerror(reason)));
}

}  // namespace flywheel
