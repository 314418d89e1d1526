#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flywheel {

// What opening a log found and did. Nothing that was lost is missing here.
struct RecoveryReport {
  uint64_t segments = 0;          // That are served.
  uint64_t segments_scanned = 0;  // Of them without an intact footer.
  uint64_t entries = 0;           // That are served.
  uint64_t live_bytes = 0;
  uint64_t damaged_bytes = 0;    // Passed over or cut off.
  uint64_t dropped_entries = 0;  // Intact ones behind a cut.
  uint64_t memory_segments = 0;  // Removed: their durability was kMemory.
  // A sentence for each thing that was not as a clean end leaves it.
  std::vector<std::string> messages;
};

}  // namespace flywheel
