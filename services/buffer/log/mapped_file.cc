#include "services/buffer/log/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22  // Linux 5.14; older C libraries lack the name.
#endif

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Map(
    int file, uint64_t bytes, const std::string& name) {
  if (bytes == 0) {
    return std::shared_ptr<const MappedFile>(new MappedFile({}, name));
  }
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, file, 0);
  if (data == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "cannot map ", bytes, " bytes of ", name, ": ", std::strerror(errno)));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile({static_cast<const std::byte*>(data), bytes}, name));
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

absl::Status MappedFile::Fetch(uint64_t offset, uint64_t bytes) const {
  static const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  void* data = const_cast<std::byte*>(bytes_.data() + begin);
  while (madvise(data, offset + bytes - begin, MADV_POPULATE_READ) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    if (errno == EINVAL || errno == ENOSYS) break;  // A kernel without it.
    return absl::DataLossError(absl::StrCat("cannot read ", bytes, " bytes of ",
                                            name_, " at ", offset, ": ",
                                            std::strerror(errno)));
  }
  return absl::OkStatus();
}

}  // namespace flywheel
