#include "services/wire/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace flywheel {

uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t crc) {
  // ISA-L counts bytes in an int, and leaves both inversions to its caller.
  constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;
  uint32_t inverted = ~crc;
  while (!bytes.empty()) {
    const std::size_t size = std::min(bytes.size(), kMaxPieceBytes);
    // The parameter lacks a const; the bytes are only read.
    auto* data = const_cast<unsigned char*>(
        reinterpret_cast<const unsigned char*>(bytes.data()));
    inverted = crc32_iscsi(data, static_cast<int>(size), inverted);
    bytes = bytes.subspan(size);
  }
  return ~inverted;
}

}  // namespace flywheel
