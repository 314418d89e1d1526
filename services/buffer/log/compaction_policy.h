#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flywheel {

// A sealed segment, as far as deciding needs it.
struct SegmentUse {
  uint32_t number = 0;
  uint64_t disk_bytes = 0;
  uint64_t live_bytes = 0;  // Rows included.
};

// Which sealed segments to replace now by one that holds only their live
// entries; empty: none. In this order:
//
// 1. All that are wholly dead: they need no replacement.
// 2. Those that take more than twice their live bytes, the emptiest first, as
//    many as one new segment of `segment_bytes` can hold.
// 3. Small ones, once there are more than kSmallSegmentsMax of them.
//
// A segment is left alone if replacing it gives nothing back. So sealed
// segments take at most twice their live bytes, but for a page each.
//
// Pure.
std::vector<uint32_t> ChooseForCompaction(std::span<const SegmentUse> sealed,
                                          uint64_t segment_bytes);

inline constexpr std::size_t kSmallSegmentsMax = 8;

// Whether rule 1 or 2 speaks of this segment.
bool IsMostlyDead(const SegmentUse& use);

}  // namespace flywheel
