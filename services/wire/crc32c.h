#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace flywheel {

// CRC32C (Castagnoli) of `bytes`, continuing from `crc` (0 to begin). The
// check value of "123456789" is 0xE3069283. Uses ISA-L.
uint32_t Crc32c(std::span<const std::byte> bytes, uint32_t crc = 0);

}  // namespace flywheel
