#include "services/buffer/log/segment_scan.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace flywheel {
namespace {

// Behind the last byte of `bytes` that is not zero.
uint64_t BytesEnd(std::span<const std::byte> bytes) {
  static constexpr std::byte kZeros[kSegmentPageBytes] = {};
  std::size_t end = bytes.size();
  while (end >= sizeof(kZeros) &&
         std::memcmp(bytes.data() + end - sizeof(kZeros), kZeros,
                     sizeof(kZeros)) == 0) {
    end -= sizeof(kZeros);
  }
  while (end > 0 && bytes[end - 1] == std::byte{0}) --end;
  return std::max<uint64_t>(end, kEntriesBegin);
}

// The intact entry at `offset`, if there is one.
std::optional<SegmentRow> EntryAt(std::span<const std::byte> bytes,
                                  uint64_t offset, uint64_t token) {
  const std::optional<StoredEntryHeader> header =
      EntryHeaderAt(bytes, offset, token);
  if (!header.has_value() || !PayloadIsIntact(bytes, offset, *header)) {
    return std::nullopt;
  }
  return RowOf(*header, offset);
}

}  // namespace

SegmentScan ScanSegment(std::span<const std::byte> bytes, uint64_t token,
                        OnDamage on_damage) {
  SegmentScan scan{.bytes_end = BytesEnd(bytes)};
  bool cut = false;
  uint64_t offset = kEntriesBegin;
  while (offset < scan.bytes_end) {
    const std::optional<SegmentRow> row = EntryAt(bytes, offset, token);
    if (!row.has_value()) {
      cut |= on_damage == OnDamage::kCut;
      scan.damaged_bytes += std::min(kEntryAlignment, scan.bytes_end - offset);
      offset += kEntryAlignment;
      continue;
    }
    const uint64_t end = offset + EntryBytes(row->payload_bytes);
    scan.max_id = std::max(scan.max_id, row->id);
    if (cut) {
      ++scan.dropped_entries;
    } else {
      scan.rows.push_back(*row);
      scan.entries_end = end;
    }
    offset = end;
  }
  return scan;
}

}  // namespace flywheel
