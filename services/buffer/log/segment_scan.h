#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "services/buffer/log/segment_layout.h"

namespace flywheel {

enum class OnDamage {
  kCut,   // The entries end where the first bad one begins.
  kSkip,  // Look for further entries behind it.
};

struct SegmentScan {
  std::vector<SegmentRow> rows;          // In the order they stand in the file.
  uint64_t entries_end = kEntriesBegin;  // Behind the last of them.
  uint64_t bytes_end = kEntriesBegin;    // Behind the last byte that is not 0.
  uint64_t damaged_bytes = 0;    // Neither entries nor zeros before bytes_end.
  uint64_t dropped_entries = 0;  // Intact, but behind a cut.
  uint64_t max_id = 0;  // Of all intact entries, dropped ones included.
};

// Reads the entries of a segment that has no intact footer, checking every
// checksum. `bytes` begin with the segment; what is unreadable is cut off them.
// Pure; survives any bytes.
SegmentScan ScanSegment(std::span<const std::byte> bytes, uint64_t token,
                        OnDamage on_damage);

}  // namespace flywheel
