#include "services/buffer/replay/image_bytes.h"

#include <bit>

#include "absl/strings/str_cat.h"
#include "services/wire/crc32c.h"

namespace flywheel {

void ByteWriter::Double(double value) {
  Fixed64(std::bit_cast<uint64_t>(value));
}

void ByteWriter::Varint(uint64_t value) {
  const std::size_t size = (std::bit_width(value | 1) + 6) / 7;
  std::byte* to = Extend(size);
  for (std::size_t i = 0; i + 1 < size; ++i, value >>= 7) {
    to[i] = static_cast<std::byte>(value | 0x80);
  }
  to[size - 1] = static_cast<std::byte>(value);
}

void ByteWriter::Difference(uint64_t before, uint64_t value) {
  const auto difference = static_cast<int64_t>(value - before);
  // Small differences of either sign become small numbers.
  Varint((static_cast<uint64_t>(difference) << 1) ^
         static_cast<uint64_t>(difference >> 63));
}

void ByteWriter::Text(std::string_view text) {
  Varint(text.size());
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
}

uint8_t ByteReader::Byte() { return static_cast<uint8_t>(Fixed(1)); }

double ByteReader::Double() { return std::bit_cast<double>(Fixed64()); }

uint64_t ByteReader::Varint() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint8_t byte = Byte();
    // The tenth byte has room for one bit.
    if (shift == 63 && byte > 1) break;
    value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return ok_ ? value : 0;
  }
  Fail();
  return 0;
}

uint64_t ByteReader::Varint(uint64_t max) {
  const uint64_t value = Varint();
  if (value <= max) return value;
  Fail();
  return 0;
}

uint64_t ByteReader::Difference(uint64_t before) {
  const uint64_t coded = Varint();
  return before + ((coded >> 1) ^ (~(coded & 1) + 1));
}

std::string ByteReader::Text(std::size_t bytes_max) {
  const auto bytes = Take(Varint(bytes_max));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

uint64_t ByteReader::Fixed(std::size_t size) {
  uint64_t value = 0;
  const std::span<const std::byte> bytes = Take(size);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  }
  return value;
}

std::span<const std::byte> ByteReader::Take(std::size_t size) {
  if (size > left()) Fail();
  if (!ok_) return {};
  const std::span<const std::byte> taken = bytes_.first(size);
  bytes_ = bytes_.subspan(size);
  return taken;
}

absl::Status ImageWriter::Finish() {
  Flush();
  bytes_.Fixed32(crc_);
  Flush();
  return status_;
}

void ImageWriter::Flush() {
  crc_ = Crc32c(bytes_.bytes(), crc_);
  if (status_.ok()) status_ = sink_(bytes_.bytes());
  bytes_.Clear();
}

absl::StatusOr<std::span<const std::byte>> ImageContent(
    std::span<const std::byte> image) {
  constexpr std::size_t kChecksumBytes = sizeof(uint32_t);
  if (image.size() < kChecksumBytes) {
    return absl::DataLossError(absl::StrCat("image must have at least ",
                                            kChecksumBytes, " bytes, got ",
                                            image.size()));
  }
  const std::size_t size = image.size() - kChecksumBytes;
  const uint32_t stored = ByteReader(image.subspan(size)).Fixed32();
  const uint32_t computed = Crc32c(image.first(size));
  if (stored != computed) {
    return absl::DataLossError(
        absl::StrCat("image of ", image.size(), " bytes: checksum must be ",
                     absl::Hex(stored), ", is ", absl::Hex(computed)));
  }
  return image.first(size);
}

}  // namespace flywheel
