#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/segment_writer.h"

namespace flywheel {

// A live entry that is to move, and the mapped segment it stands in.
struct MovingEntry {
  SegmentRow row;
  uint32_t from = 0;
  uint64_t token = 0;
  std::shared_ptr<const MappedFile> mapped;
};

struct CompactedSegment {
  SegmentHeader header;
  std::shared_ptr<const MappedFile> mapped;
  SegmentRows rows;
  uint64_t disk_bytes = 0;
  std::vector<SegmentRow> lost;       // Entries whose checksum failed.
  std::vector<std::string> messages;  // A sentence for each of them.
};

// Writes a sealed segment of `entries`, which must be sorted by id, and puts it
// in its place: all at once, since the file gets its name when it is whole and,
// unless `durability` is kMemory, on the disk. From then on recovery removes
// the segments it `replaced`. After an error nothing has changed.
absl::StatusOr<CompactedSegment> WriteCompacted(
    LogFiles& files, const SegmentHeader& header,
    std::span<const MovingEntry> entries, std::span<const uint64_t> replaced);

}  // namespace flywheel
