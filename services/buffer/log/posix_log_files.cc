#include "services/buffer/log/posix_log_files.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// No room is the caller's to wait out; everything else is the disk's fault.
absl::Status SystemError(const std::string& what, const std::string& path,
                         int error) {
  const std::string message =
      absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EMFILE:
    case ENFILE:
      return absl::ResourceExhaustedError(message);
    case ENOENT:
      return absl::NotFoundError(message);
    default:
      return absl::UnavailableError(message);
  }
}

class PosixLogFile final : public LogFile {
 public:
  PosixLogFile(int file, std::string name, std::string path)
      : file_(file), name_(std::move(name)), path_(std::move(path)) {}
  ~PosixLogFile() override { close(file_); }
  PosixLogFile(const PosixLogFile&) = delete;
  PosixLogFile& operator=(const PosixLogFile&) = delete;

  const std::string& name() const override { return name_; }

  absl::Status Write(
      uint64_t offset,
      std::span<const std::span<const std::byte>> pieces) override {
    std::vector<iovec> rest;
    rest.reserve(pieces.size());
    for (const std::span<const std::byte> piece : pieces) {
      if (piece.empty()) continue;
      rest.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    }
    std::span<iovec> left(rest);
    while (!left.empty()) {
      const int count =
          static_cast<int>(std::min<std::size_t>(left.size(), 512));
      const ssize_t written =
          pwritev(file_, left.data(), count, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return SystemError("write", path_, errno);
      offset += static_cast<uint64_t>(written);
      left = Advance(left, static_cast<std::size_t>(written));
    }
    return absl::OkStatus();
  }

  absl::Status Sync() override {
    return fdatasync(file_) == 0 ? absl::OkStatus()
                                 : SystemError("sync", path_, errno);
  }

  void Release(uint64_t offset, uint64_t bytes) override {
    // A file system that cannot only keeps more than it must.
    (void)fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(offset), static_cast<off_t>(bytes));
  }

  void MakeReadOnly() override { (void)fchmod(file_, 0444); }

  absl::StatusOr<std::shared_ptr<const MappedFile>> Map() override {
    const absl::StatusOr<uint64_t> bytes = Bytes();
    if (!bytes.ok()) return bytes.status();
    return MappedFile::Map(file_, *bytes, path_);
  }

  absl::StatusOr<uint64_t> Bytes() override {
    struct stat status {};
    if (fstat(file_, &status) != 0) return SystemError("stat", path_, errno);
    return static_cast<uint64_t>(status.st_size);
  }

  absl::StatusOr<uint64_t> DiskBytes() override {
    struct stat status {};
    if (fstat(file_, &status) != 0) return SystemError("stat", path_, errno);
    return static_cast<uint64_t>(status.st_blocks) * 512;
  }

  // Gives every byte up to `bytes` its place on the disk.
  absl::Status Allocate(uint64_t bytes) {
    while (fallocate(file_, 0, 0, static_cast<off_t>(bytes)) != 0) {
      if (errno == EINTR) continue;
      if (errno == EOPNOTSUPP) return WriteZeros(bytes);
      return SystemError(absl::StrCat("preallocate ", bytes, " bytes for"),
                         path_, errno);
    }
    return absl::OkStatus();
  }

 private:
  static std::span<iovec> Advance(std::span<iovec> pieces, std::size_t bytes) {
    while (!pieces.empty() && bytes >= pieces.front().iov_len) {
      bytes -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (!pieces.empty()) {
      pieces.front().iov_base =
          static_cast<std::byte*>(pieces.front().iov_base) + bytes;
      pieces.front().iov_len -= bytes;
    }
    return pieces;
  }

  absl::Status WriteZeros(uint64_t bytes) {
    const std::vector<std::byte> zeros(std::size_t{1} << 20);
    for (uint64_t offset = 0; offset < bytes; offset += zeros.size()) {
      const std::span<const std::byte> piece(
          zeros.data(), std::min<uint64_t>(zeros.size(), bytes - offset));
      FLYWHEEL_RETURN_IF_ERROR(Write(offset, {&piece, 1}));
    }
    return absl::OkStatus();
  }

  const int file_;
  const std::string name_;
  const std::string path_;  // For messages.
};

// Refuses at once what cannot fit, rather than filling the disk to find out. A
// file beyond RLIMIT_FSIZE would even bring a signal.
absl::Status CheckRoom(const std::string& folder, uint64_t bytes,
                       uint64_t spare_bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && bytes > limit.rlim_cur) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot preallocate ", bytes, " bytes in ", folder, ": a file of this ",
        "process may have at most ", limit.rlim_cur, " (RLIMIT_FSIZE)"));
  }
  struct statvfs system {};
  if (statvfs(folder.c_str(), &system) != 0) return absl::OkStatus();
  const uint64_t free = uint64_t{system.f_bfree} * system.f_frsize;
  if (system.f_blocks == 0 || free >= bytes + spare_bytes) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      "cannot preallocate ", bytes, " bytes in ", folder, " and leave ",
      spare_bytes, " free: ", free, " are free on its file system"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<LogFile>> PosixLogFiles::Create(
    const std::string& name, uint64_t bytes, uint64_t spare_bytes) {
  FLYWHEEL_RETURN_IF_ERROR(CheckRoom(folder_, bytes, spare_bytes));
  const std::string path = Path(name);
  const int file =
      open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return SystemError("create", path, errno);
  auto created = std::make_unique<PosixLogFile>(file, name, path);
  if (absl::Status status = created->Allocate(bytes); !status.ok()) {
    unlink(path.c_str());
    return status;
  }
  return created;
}

absl::StatusOr<std::unique_ptr<LogFile>> PosixLogFiles::Open(
    const std::string& name) {
  const std::string path = Path(name);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file >= 0) return std::make_unique<PosixLogFile>(file, name, path);
  // Sealed files are read-only, which binds everybody but root.
  const int sealed = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (sealed < 0) return SystemError("open", path, errno);
  return std::make_unique<PosixLogFile>(sealed, name, path);
}

absl::StatusOr<std::vector<std::string>> PosixLogFiles::List() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(folder_, error)) {
    names.push_back(entry.path().filename().string());
  }
  if (error) return SystemError("list", folder_, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

absl::Status PosixLogFiles::Rename(const std::string& from,
                                   const std::string& to) {
  return rename(Path(from).c_str(), Path(to).c_str()) == 0
             ? absl::OkStatus()
             : SystemError("rename", Path(from), errno);
}

absl::Status PosixLogFiles::Remove(const std::string& name) {
  return unlink(Path(name).c_str()) == 0
             ? absl::OkStatus()
             : SystemError("remove", Path(name), errno);
}

absl::Status PosixLogFiles::SyncFolder() {
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return SystemError("open", folder_, errno);
  const int error = fsync(folder) == 0 ? 0 : errno;
  close(folder);
  return error == 0 ? absl::OkStatus() : SystemError("sync", folder_, error);
}

}  // namespace flywheel
