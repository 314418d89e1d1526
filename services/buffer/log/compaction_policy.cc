#include "services/buffer/log/compaction_policy.h"

#include <algorithm>

#include "services/buffer/log/segment_layout.h"

namespace flywheel {
namespace {

bool IsDead(const SegmentUse& use) { return use.live_bytes == 0; }

bool IsSparse(const SegmentUse& use) {
  return use.disk_bytes > 2 * use.live_bytes &&
         SegmentBytesFor(use.live_bytes, 1) < use.disk_bytes;
}

bool IsSmall(const SegmentUse& use, uint64_t segment_bytes) {
  return 2 * use.disk_bytes < segment_bytes;
}

// As many of `uses`, in their order, as one segment can hold.
std::vector<uint32_t> ThatFit(std::span<const SegmentUse> uses,
                              uint64_t segment_bytes) {
  std::vector<uint32_t> numbers;
  uint64_t live_bytes = 0;
  for (const SegmentUse& use : uses) {
    live_bytes += use.live_bytes;
    const bool fits =
        SegmentBytesFor(live_bytes, numbers.size() + 1) <= segment_bytes;
    if (!numbers.empty() && !fits) break;
    numbers.push_back(use.number);
  }
  return numbers;
}

}  // namespace

bool IsMostlyDead(const SegmentUse& use) {
  return IsDead(use) || IsSparse(use);
}

std::vector<uint32_t> ChooseForCompaction(std::span<const SegmentUse> sealed,
                                          uint64_t segment_bytes) {
  std::vector<uint32_t> dead;
  std::vector<SegmentUse> sparse;
  std::vector<SegmentUse> small;
  for (const SegmentUse& use : sealed) {
    if (IsDead(use)) dead.push_back(use.number);
    if (IsSparse(use)) sparse.push_back(use);
    if (IsSmall(use, segment_bytes)) small.push_back(use);
  }
  if (!dead.empty()) return dead;

  if (!sparse.empty()) {
    std::sort(sparse.begin(), sparse.end(), [](const auto& a, const auto& b) {
      return a.live_bytes < b.live_bytes;
    });
    return ThatFit(sparse, segment_bytes);
  }
  if (small.size() <= kSmallSegmentsMax) return {};
  std::sort(small.begin(), small.end(), [](const auto& a, const auto& b) {
    return a.live_bytes < b.live_bytes;
  });
  return ThatFit(small, segment_bytes);
}

}  // namespace flywheel
