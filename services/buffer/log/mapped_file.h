#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flywheel {

// A file's bytes, mapped for reading and shared with the page cache: what is
// written to the file is seen at once. Stays readable after the file was
// renamed or unlinked, for as long as somebody holds the pointer.
//
// Constant after construction, so any thread may use it.
class MappedFile {
 public:
  // Maps `bytes` bytes of `file`, which may be closed afterwards. `name` is for
  // messages.
  static absl::StatusOr<std::shared_ptr<const MappedFile>> Map(
      int file, uint64_t bytes, const std::string& name);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  // Reads [offset, offset + bytes) in, so that a disk that cannot read is an
  // error here and not a SIGBUS later: DataLoss naming file and offset. What is
  // in memory already costs a microsecond. REQUIRES: inside bytes().
  absl::Status Fetch(uint64_t offset, uint64_t bytes) const;

 private:
  MappedFile(std::span<const std::byte> bytes, std::string name)
      : bytes_(bytes), name_(std::move(name)) {}

  const std::span<const std::byte> bytes_;
  const std::string name_;
};

}  // namespace flywheel
