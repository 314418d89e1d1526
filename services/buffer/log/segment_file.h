#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/segment_layout.h"
#include "services/buffer/log/segment_rows.h"

namespace flywheel {

// A segment file as it was found.
struct SegmentFile {
  enum class State {
    kSealed,      // Header, footer and rows are intact.
    kUnsealed,    // The header is; entries have to be looked for.
    kUnreadable,  // Neither.
    kBlank,       // Nothing but zeros: its maker was stopped early.
  };

  std::string name;
  uint32_t number = 0;
  State state = State::kUnreadable;
  SegmentHeader header;
  std::shared_ptr<LogFile> file;  // Null if sealed: there may be thousands.
  std::shared_ptr<const MappedFile> mapped;
  uint64_t disk_bytes = 0;
  SegmentRows rows;                // If sealed.
  std::vector<uint64_t> replaced;  // If sealed: segments it took over.
};

// Opens, maps and judges segment `number`. Checks everything that a sealed
// segment's rows are trusted for; never fails for what the file holds.
absl::StatusOr<SegmentFile> ReadSegmentFile(LogFiles& files, uint32_t number);

// How many bytes from the start the disk can read; `error` says why not all.
uint64_t ReadableBytes(const MappedFile& mapped, absl::Status& error);

}  // namespace flywheel
