#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/buffer/log/mapped_file.h"

namespace flywheel {

// One file of the log, open for writing. Not thread-safe, except that Sync()
// may run beside Write().
class LogFile {
 public:
  virtual ~LogFile() = default;

  virtual const std::string& name() const = 0;  // That it was opened by.

  // Writes the pieces one after another from `offset`. After an error any part
  // of them may have been written. ResourceExhausted: no room.
  virtual absl::Status Write(
      uint64_t offset, std::span<const std::span<const std::byte>> pieces) = 0;

  // Returns once everything written is on the disk.
  virtual absl::Status Sync() = 0;

  // Gives the disk blocks of a range that was never written back, where the
  // file system can; the file keeps its length.
  virtual void Release(uint64_t offset, uint64_t bytes) = 0;

  // Takes the leave to write away from whoever opens the file from now on.
  virtual void MakeReadOnly() = 0;

  virtual absl::StatusOr<std::shared_ptr<const MappedFile>> Map() = 0;
  virtual absl::StatusOr<uint64_t> Bytes() = 0;      // Its length.
  virtual absl::StatusOr<uint64_t> DiskBytes() = 0;  // What it takes on disk.
};

// The few things the log asks of its folder: a seam, so that tests can lose
// the power. Names are without a path. Thread-safe.
class LogFiles {
 public:
  virtual ~LogFiles() = default;

  // A new file whose `bytes` are zero and have their place on the disk, so that
  // writing them later does not fail for want of room. ResourceExhausted, and
  // no file, if there is none now, or `spare_bytes` would not stay free.
  virtual absl::StatusOr<std::unique_ptr<LogFile>> Create(
      const std::string& name, uint64_t bytes, uint64_t spare_bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<LogFile>> Open(
      const std::string& name) = 0;

  virtual absl::StatusOr<std::vector<std::string>> List() = 0;
  virtual absl::Status Rename(const std::string& from,
                              const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& name) = 0;

  // Returns once every Create(), Rename() and Remove() is on the disk.
  virtual absl::Status SyncFolder() = 0;
};

}  // namespace flywheel
