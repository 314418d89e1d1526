#include "services/wire/socket_folder.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "flywheel";
constexpr std::size_t kSocketNameBytesMax = 24;  // Room for the sockets' names.
constexpr std::size_t kPathBytesMax = sizeof(sockaddr_un{}.sun_path) - 1;

// Of a folder called flywheel-<pid>-XXXXXX.
std::optional<pid_t> LauncherOf(const std::string& folder) {
  const std::vector<std::string> parts =
      absl::StrSplit(fs::path(folder).filename().string(), '-');
  pid_t pid = 0;
  const bool ours = parts.size() == 3 && parts[0] == kPrefix &&
                    absl::SimpleAtoi(parts[1], &pid) && pid > 0;
  return ours ? std::optional(pid) : std::nullopt;
}

bool IsOwnFolder(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
         found.st_uid == geteuid();
}

std::vector<std::string> Entries(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    paths.push_back(entry.path().string());
  }
  return paths;
}

bool IsSocket(const std::string& path) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode);
}

// Where folders may be, the best place first.
std::vector<std::string> Places() {
  std::vector<std::string> places;
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') places.emplace_back(runtime);
  places.emplace_back("/tmp");
  return places;
}

void RemoveFoldersOfDeadLaunchers(const std::string& place) {
  for (const std::string& path : Entries(place)) {
    const std::optional<pid_t> launcher = LauncherOf(path);
    const bool dead = launcher && kill(*launcher, 0) != 0 && errno == ESRCH;
    if (dead) RemoveDeadSockets(path);
  }
}

}  // namespace

absl::StatusOr<SocketFolder> SocketFolder::Create() {
  absl::Status status;
  for (const std::string& place : Places()) {
    RemoveFoldersOfDeadLaunchers(place);
    std::string path =
        absl::StrCat(place, "/", kPrefix, "-", getpid(), "-XXXXXX");
    if (path.size() + 1 + kSocketNameBytesMax > kPathBytesMax) {
      status = absl::InvalidArgumentError(
          absl::StrCat("sockets in ", path, " would have paths over ",
                       kPathBytesMax, " bytes"));
      continue;
    }
    if (mkdtemp(path.data()) != nullptr) return SocketFolder(path);  // 0700.
    status = absl::UnavailableError(
        absl::StrCat("cannot make a folder for sockets in ", place, ": ",
                     std::strerror(errno)));
  }
  return status;
}

SocketFolder::SocketFolder(SocketFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

SocketFolder::~SocketFolder() {
  if (path_.empty()) return;
  for (const std::string& path : Entries(path_)) {
    if (IsSocket(path)) unlink(path.c_str());
  }
  rmdir(path_.c_str());
}

void RemoveDeadSockets(const std::string& folder) {
  if (!LauncherOf(folder) || !IsOwnFolder(folder)) return;
  for (const std::string& path : Entries(folder)) {
    if (IsSocket(path) && !SomebodyListens(path)) unlink(path.c_str());
  }
  rmdir(folder.c_str());  // Refused while anything is left in it.
}

bool SomebodyListens(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kPathBytesMax) return false;
  path.copy(address.sun_path, path.size());
  const int probe =
      socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return true;  // Not known: leave it alone.
  const int connected = connect(
      probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  // A full backlog is EAGAIN: somebody is there.
  const bool refused =
      connected != 0 && (errno == ECONNREFUSED || errno == ENOENT);
  close(probe);
  return !refused;
}

}  // namespace flywheel
