#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/recovery_report.h"
#include "services/buffer/log/segment_set.h"
#include "services/buffer/log/segment_writer.h"

namespace flywheel {

// What a folder held, brought in order.
struct RecoveredLog {
  std::vector<SegmentSet::Segment> sealed;  // By number.
  std::optional<SegmentWriter> writer;      // The segment to go on with.
  // Files that the last life may have left unsynced (kProcess); none of kDisk,
  // whose files are synced by now.
  std::vector<std::shared_ptr<LogFile>> unsynced;
  uint64_t next_id = 1;
  uint32_t next_number = 1;
  RecoveryReport report;
};

// Reads the segments of a folder whose lock the caller holds and finishes what
// the last life left undone, so that the next one finds the same entries:
//
//   * what compaction had not yet put in place is removed, and so are segments
//     that a finished compaction replaced;
//   * a segment without an intact footer is scanned; the newest is cut at its
//     first bad entry, in older ones bad entries are passed over. It then gets
//     a footer, unless it is whole and can go on taking entries;
//   * segments of durability kMemory are removed.
//
// May be stopped anywhere and begun again. FailedPrecondition, and nothing
// changed, if `durability` is kMemory and there are durable segments.
absl::StatusOr<RecoveredLog> RecoverLog(LogFiles& files, Durability durability);

}  // namespace flywheel
