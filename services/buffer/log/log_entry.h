#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace flywheel {

// Names an entry for as long as it lives, wherever compaction moves it. Ids
// count up from 1 in the order of appending; some may be left out.
struct EntryId {
  uint64_t value = 0;
  auto operator<=>(const EntryId&) const = default;
};

// A few numbers of the owner's that stand beside an entry and can be listed
// without reading its payload: for a record its (worker, incarnation,
// sequence). The log does not interpret them.
struct EntryKey {
  std::array<uint64_t, 4> words{};
  bool operator==(const EntryKey&) const = default;
};

// What to append. The payload is its pieces one after another; they must
// outlive the call, no longer.
struct NewEntry {
  uint16_t kind = 0;  // The owner's; any number.
  EntryKey key;
  std::span<const std::span<const std::byte>> payload;
};

// An entry without its payload.
struct EntryInfo {
  EntryId id;
  uint16_t kind = 0;
  EntryKey key;
  uint64_t payload_bytes = 0;
};

// An entry that was read. `payload` lies in the mapped segment, 64-byte
// aligned; `owner` keeps it there, also after the entry died.
struct LogEntry {
  EntryInfo info;
  std::span<const std::byte> payload;
  std::shared_ptr<const void> owner;
};

// Where a payload lies now: for a reader in another process, which opens the
// file and compares `token` with the bytes at kSegmentTokenOffset. Compaction
// may remove the file at any time; whoever has it mapped keeps the bytes.
struct LogPosition {
  uint32_t segment = 0;
  uint64_t token = 0;
  uint64_t offset = 0;  // Of the payload in the file.
  uint64_t bytes = 0;
};

}  // namespace flywheel
