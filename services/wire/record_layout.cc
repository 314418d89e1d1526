#include "services/wire/record_layout.h"

#include <array>

#include "services/wire/crc32c.h"

namespace flywheel {

uint32_t RecordCrc32c(std::span<const std::byte> record) {
  constexpr std::size_t kBegin = offsetof(StoredHeader, crc32c);
  constexpr std::array<std::byte, sizeof(StoredHeader::crc32c)> kZeros{};
  const uint32_t before = Crc32c(record.first(kBegin));
  return Crc32c(record.subspan(kBegin + kZeros.size()), Crc32c(kZeros, before));
}

}  // namespace flywheel
