#include "services/buffer/log/segment_layout.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

constexpr char kSuffix[] = ".segment";

// The checksum of a struct without its last field, which holds it.
template <typename T>
uint32_t CrcOf(const T& stored, uint32_t seed = 0) {
  return Crc32c(BytesOf(stored).first(sizeof(T) - sizeof(uint32_t)), seed);
}

uint32_t SeedOf(uint64_t token) {
  return static_cast<uint32_t>(token) ^ static_cast<uint32_t>(token >> 32);
}

}  // namespace

EntryInfo SegmentRow::info() const {
  EntryInfo info{.id = {id}, .kind = kind, .payload_bytes = payload_bytes};
  std::copy(std::begin(key), std::end(key), info.key.words.begin());
  return info;
}

StoredSegmentHeader StoredFrom(const SegmentHeader& header) {
  StoredSegmentHeader stored{
      .durability = static_cast<uint8_t>(header.durability),
      .compacted = header.compacted,
      .number = header.number,
      .token = header.token,
      .first_id = header.first_id,
      .file_bytes = header.file_bytes};
  stored.crc = CrcOf(stored);
  return stored;
}

std::optional<SegmentHeader> HeaderFrom(const StoredSegmentHeader& stored) {
  if (stored.magic != kSegmentMagic || stored.crc != CrcOf(stored) ||
      stored.format_version != kSegmentFormatVersion ||
      stored.durability > static_cast<uint8_t>(Durability::kDisk) ||
      stored.number > std::numeric_limits<uint32_t>::max()) {
    return std::nullopt;
  }
  return SegmentHeader{.number = static_cast<uint32_t>(stored.number),
                       .token = stored.token,
                       .first_id = stored.first_id,
                       .file_bytes = stored.file_bytes,
                       .durability = Durability{stored.durability},
                       .compacted = stored.compacted != 0};
}

StoredEntryHeader MakeEntryHeader(const EntryInfo& info, uint32_t payload_crc,
                                  uint64_t token) {
  StoredEntryHeader stored{.kind = info.kind,
                           .id = info.id.value,
                           .payload_bytes = info.payload_bytes,
                           .payload_crc = payload_crc};
  std::copy(info.key.words.begin(), info.key.words.end(), stored.key);
  stored.header_crc = CrcOf(stored, SeedOf(token));
  return stored;
}

std::optional<StoredEntryHeader> EntryHeaderAt(std::span<const std::byte> bytes,
                                               uint64_t offset,
                                               uint64_t token) {
  StoredEntryHeader stored;
  if (offset > bytes.size() || bytes.size() - offset < sizeof(stored)) {
    return std::nullopt;
  }
  std::memcpy(&stored, bytes.data() + offset, sizeof(stored));
  if (stored.magic != kEntryMagic || stored.header_bytes != sizeof(stored) ||
      stored.header_crc != CrcOf(stored, SeedOf(token)) ||
      stored.payload_bytes > bytes.size() - offset - sizeof(stored)) {
    return std::nullopt;
  }
  return stored;
}

bool PayloadIsIntact(std::span<const std::byte> bytes, uint64_t offset,
                     const StoredEntryHeader& header) {
  return Crc32c(bytes.subspan(offset + sizeof(header), header.payload_bytes)) ==
         header.payload_crc;
}

SegmentRow RowOf(const StoredEntryHeader& header, uint64_t offset) {
  SegmentRow row{
      .id = header.id,
      .payload_bytes = header.payload_bytes,
      .offset_units = static_cast<uint32_t>(offset / kEntryAlignment),
      .kind = header.kind};
  std::copy(std::begin(header.key), std::end(header.key), row.key);
  return row;
}

StoredFooter Checksummed(StoredFooter footer) {
  footer.crc = CrcOf(footer);
  return footer;
}

bool IsIntact(const StoredFooter& footer) {
  return footer.magic == kFooterMagic && footer.crc == CrcOf(footer);
}

std::string SegmentName(uint32_t number) {
  return absl::StrFormat("%012d%s", number, kSuffix);
}

std::optional<uint32_t> SegmentNumber(const std::string& name) {
  uint32_t number = 0;
  if (!absl::EndsWith(name, kSuffix) ||
      !absl::SimpleAtoi(name.substr(0, name.find('.')), &number) ||
      SegmentName(number) != name) {
    return std::nullopt;
  }
  return number;
}

}  // namespace flywheel
