#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/buffer/replay/image_bytes.h"
#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/item_slots.h"
#include "services/buffer/replay/rate_limiter.h"
#include "services/buffer/replay/record_references.h"
#include "services/buffer/replay/replay_table_options.h"

namespace flywheel {

inline constexpr uint32_t kTableImageMagic = 0x31495746;  // "FWI1"
inline constexpr uint16_t kTableImageVersion = 1;

// What became of a table's items, of all times.
struct TableCounts {
  int64_t inserted = 0;
  int64_t sampled = 0;          // Draws.
  int64_t sampled_once = 0;     // First draws: distinct items.
  int64_t removed_full = 0;     // By the remover.
  int64_t removed_sampled = 0;  // By max_times_sampled.
  int64_t deleted = 0;
  int64_t lost = 0;
  int64_t reset = 0;           // Items that a reset removed.
  int64_t priorities_set = 0;  // By updates.

  bool operator==(const TableCounts&) const = default;
};

// A table at one moment, to be written to a checkpoint while the table goes on.
//
// The bytes are little-endian: magic, version, options, counts, then each item
// by slot (key, priority, records, offset, steps, times sampled), what the
// selectors know beyond that, and the CRC32C of it all. About 25 bytes an item.
//
// Immutable; any thread may write it, while another changes the table.
class TableImage {
 public:
  const std::string& table() const { return options_.name; }
  std::size_t num_items() const { return items_.size(); }

  // Gives the bytes to `sink`, piece by piece. Fails if the sink does.
  absl::Status Write(ByteSink sink) const;

  // All in one.
  std::vector<std::byte> Bytes() const;

 private:
  friend class ReplayTable;

  TableImage() = default;

  void WriteItems(ImageWriter& image) const;

  ReplayTableOptions options_;
  RateLimiterCounts limiter_counts_;
  TableCounts counts_;
  PagedArray<StoredItem> items_;
  PagedArray<RecordLink> links_;
  PagedArray<RecordReferences::Record> records_;
  std::unique_ptr<SelectorImage> sampler_;  // May be null, as the remover's.
  std::unique_ptr<SelectorImage> remover_;
};

// What stands at the head of an image; leaves the reader behind it. DataLoss if
// there is nothing of the kind.
struct TableImageHead {
  ReplayTableOptions options;
  RateLimiterCounts limiter_counts;
  TableCounts counts;
  uint64_t num_items = 0;
};
absl::StatusOr<TableImageHead> ReadImageHead(ByteReader& image);

// The next item; `records` are its records. The reader is not ok afterwards if
// there was none. `before` is the first record of the item before.
StoredItem ReadImageItem(ByteReader& image, RecordId before,
                         std::vector<RecordId>& records);

}  // namespace flywheel
