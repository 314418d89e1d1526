#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "services/buffer/log/log_entry.h"

namespace flywheel {

// What a segment file looks like; docs/log_format.md says it in prose.
//
//   header, header again | entry | entry | ... | zeros | rows | footer, header
//   0        64           128                            the end of the file
//
// Until a segment is sealed everything behind the last entry is zero. Bytes
// once written are never written again.

static_assert(std::endian::native == std::endian::little);

inline constexpr uint32_t kSegmentMagic = 0x31535746;  // "FWS1"
inline constexpr uint32_t kEntryMagic = 0x31455746;    // "FWE1"
inline constexpr uint32_t kFooterMagic = 0x31465746;   // "FWF1"
inline constexpr uint16_t kSegmentFormatVersion = 1;
inline constexpr uint64_t kEntryAlignment = 64;
inline constexpr uint64_t kSegmentPageBytes = 4096;
inline constexpr uint64_t kEntriesBegin = 128;
inline constexpr uint64_t kTrailerBytes = 128;  // The footer and a header.
inline constexpr uint64_t kSegmentTokenOffset = 16;

// How much an acknowledged entry withstands.
enum class Durability : uint8_t {
  kMemory = 0,   // Nothing: removed at the next start, which reports it.
  kProcess = 1,  // kill -9. Losing the machine may cost the last second.
  kDisk = 2,     // Losing the machine's power.
};

struct SegmentHeader {
  uint32_t number = 0;
  uint64_t token = 0;     // Random; seeds the checksums of this file's entries.
  uint64_t first_id = 0;  // Of the next entry when it was made.
  uint64_t file_bytes = 0;
  Durability durability = Durability::kProcess;
  bool compacted = false;  // Made of other segments' live entries.
  bool operator==(const SegmentHeader&) const = default;
};

struct StoredSegmentHeader {
  uint32_t magic = kSegmentMagic;
  uint16_t format_version = kSegmentFormatVersion;
  uint8_t durability = 0;
  uint8_t compacted = 0;
  uint64_t number = 0;
  uint64_t token = 0;
  uint64_t first_id = 0;
  uint64_t file_bytes = 0;
  uint32_t reserved[5] = {};
  uint32_t crc = 0;  // Of all before it.
};
static_assert(sizeof(StoredSegmentHeader) == 64);
static_assert(offsetof(StoredSegmentHeader, token) == kSegmentTokenOffset);

// Before each payload. `header_crc` covers everything else here and thereby,
// through `payload_crc`, the payload. It begins from the segment's token, so
// that a payload that holds a segment's bytes is never taken for entries.
struct StoredEntryHeader {
  uint32_t magic = kEntryMagic;
  uint16_t kind = 0;
  uint16_t header_bytes = 64;
  uint64_t id = 0;
  uint64_t payload_bytes = 0;
  uint64_t key[4] = {};
  uint32_t payload_crc = 0;
  uint32_t header_crc = 0;
};
static_assert(sizeof(StoredEntryHeader) == 64);

// An entry in the footer of its segment, in the order of ids.
struct SegmentRow {
  uint64_t id = 0;
  uint64_t payload_bytes = 0;
  uint32_t offset_units = 0;  // Of the entry; a unit is kEntryAlignment bytes.
  uint16_t kind = 0;
  uint16_t reserved = 0;
  uint64_t key[4] = {};

  uint64_t offset() const { return uint64_t{offset_units} * kEntryAlignment; }
  EntryInfo info() const;
};
static_assert(sizeof(SegmentRow) == 56);

struct StoredFooter {
  uint32_t magic = kFooterMagic;
  uint32_t num_replaced =
      0;  // Segments this one replaces: u64 behind the rows.
  uint64_t num_rows = 0;
  uint64_t rows_offset = 0;
  uint64_t entries_end = 0;
  uint32_t reserved[6] = {};
  uint32_t rows_crc = 0;  // Of rows and replaced segments.
  uint32_t crc = 0;       // Of all before it.
};
static_assert(sizeof(StoredFooter) == 64);

constexpr uint64_t RoundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What an entry takes among the entries, and with its row in the footer.
constexpr uint64_t EntryBytes(uint64_t payload_bytes) {
  return RoundUp(sizeof(StoredEntryHeader) + payload_bytes, kEntryAlignment);
}
constexpr uint64_t EntryBytesWithRow(uint64_t payload_bytes) {
  return EntryBytes(payload_bytes) + sizeof(SegmentRow);
}

// The smallest file for entries of `entry_bytes`, rows included.
constexpr uint64_t SegmentBytesFor(uint64_t entry_bytes,
                                   std::size_t num_replaced) {
  return RoundUp(kEntriesBegin + entry_bytes + num_replaced * sizeof(uint64_t) +
                     kTrailerBytes,
                 kSegmentPageBytes);
}

StoredSegmentHeader StoredFrom(const SegmentHeader& header);
// Nothing if `stored` is no intact header.
std::optional<SegmentHeader> HeaderFrom(const StoredSegmentHeader& stored);

StoredEntryHeader MakeEntryHeader(const EntryInfo& info, uint32_t payload_crc,
                                  uint64_t token);

// The entry header at `offset`, if an intact one of a segment with this token
// stands there and its payload ends within `bytes`.
std::optional<StoredEntryHeader> EntryHeaderAt(std::span<const std::byte> bytes,
                                               uint64_t offset, uint64_t token);
// REQUIRES: `header` is what EntryHeaderAt() returned.
bool PayloadIsIntact(std::span<const std::byte> bytes, uint64_t offset,
                     const StoredEntryHeader& header);

SegmentRow RowOf(const StoredEntryHeader& header, uint64_t offset);

// With `crc` filled in.
StoredFooter Checksummed(StoredFooter footer);
bool IsIntact(const StoredFooter& footer);

// "000000000012.segment", and back; nothing for any other name.
std::string SegmentName(uint32_t number);
std::optional<uint32_t> SegmentNumber(const std::string& name);

inline constexpr char kPartialSuffix[] = ".partial";  // Compaction at work.
inline constexpr char kDamagedSuffix[] = ".damaged";  // Kept for people.

template <typename T>
std::span<const std::byte> BytesOf(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace flywheel
