#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "services/buffer/replay/image_bytes.h"
#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/rate_limiter.h"

namespace flywheel {

// What happens to an insert beyond items_max or bytes_max.
enum class WhenTableFull : uint8_t {
  kRemove = 1,  // The remover chooses what goes: it may be the new item.
  kRefuse = 2,  // It fails: ResourceExhausted.
  kWait = 3,    // It waits, as for the rate limiter: Unavailable.
};

struct ReplayTableOptions {
  std::string name;  // 1 to kTableNameBytesMax bytes.
  SelectorOptions sampler = {.kind = SelectorKind::kUniform};
  SelectorOptions remover = {.kind = SelectorKind::kFifo};
  RateLimiterOptions rate_limiter;
  // An item goes with the draw of this number; 0: there is no limit.
  uint32_t max_times_sampled = 0;
  WhenTableFull when_full = WhenTableFull::kRemove;
  uint64_t items_max = 1'000'000;  // 1 to kTableItemsMax.
  // Of the records that the table's items refer to, each counted once.
  uint64_t bytes_max = uint64_t{1} << 36;

  bool operator==(const ReplayTableOptions&) const = default;
};

inline constexpr std::size_t kTableNameBytesMax = 255;
inline constexpr uint64_t kTableItemsMax = uint64_t{1} << 30;

// Each item is sampled once, the oldest first; an insert waits while `size` are
// there.
ReplayTableOptions QueueTable(std::string name, int64_t size);

// The same with the newest first.
ReplayTableOptions StackTable(std::string name, int64_t size);

// InvalidArgument naming the table, the field, the rule and the value.
absl::Status Validate(const ReplayTableOptions& options);

// What a saved table has otherwise than the configured one, in words; empty if
// nothing.
std::string Differences(const ReplayTableOptions& configured,
                        const ReplayTableOptions& saved);

void WriteOptions(const ReplayTableOptions& options, ByteWriter& bytes);

// The reader is not ok afterwards if there were none.
ReplayTableOptions ReadOptions(ByteReader& bytes);

}  // namespace flywheel
