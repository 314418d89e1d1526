#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "services/buffer/replay/image_bytes.h"
#include "services/buffer/replay/replay_item.h"

namespace flywheel {

// What happened to a table, so that it can be told to another: the same events
// on the same table give the same table, bit for bit.

struct KeyPriority {
  uint64_t key = 0;
  double priority = 0.0;
  bool operator==(const KeyPriority&) const = default;
};

// Why an item went.
enum class RemovalCause : uint8_t {
  kFull = 1,     // The remover's choice.
  kDeleted = 2,  // A client's.
  kLost = 3,     // A record of it is lost.
  kSampled = 4,  // Often enough; this one is not told, it follows.
};

struct InsertEvent {
  uint64_t key = 0;
  double priority = 0.0;
  absl::InlinedVector<RecordId, 1> records;
  uint32_t first_offset = 0;
  uint32_t num_steps = 0;
  bool operator==(const InsertEvent&) const = default;
};
// Draws, in their order. An item sampled often enough goes with its last one.
struct SampleEvent {
  std::vector<uint64_t> keys;
  bool operator==(const SampleEvent&) const = default;
};
struct RemoveEvent {
  RemovalCause cause = RemovalCause::kFull;
  absl::InlinedVector<uint64_t, 1> keys;
  bool operator==(const RemoveEvent&) const = default;
};
struct PriorityEvent {
  std::vector<KeyPriority> priorities;
  bool operator==(const PriorityEvent&) const = default;
};
struct ResetEvent {
  bool operator==(const ResetEvent&) const = default;
};

using TableEvent = std::variant<InsertEvent, SampleEvent, RemoveEvent,
                                PriorityEvent, ResetEvent>;

struct NamedTableEvent {
  std::string table;
  TableEvent event;
  bool operator==(const NamedTableEvent&) const = default;
};

// Gathers events as bytes, to be appended to a log together. Not thread-safe.
class TableEvents {
 public:
  void Add(std::string_view table, const TableEvent& event);

  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.size() == 0; }

  // What has gathered; stands for itself, whatever was taken before.
  std::vector<std::byte> Take();

 private:
  ByteWriter bytes_;
  std::string table_;  // That the last event was about.
};

// DataLoss, naming the event by its number, for what Take() never wrote;
// survives any bytes.
absl::StatusOr<std::vector<NamedTableEvent>> TableEventsFromBytes(
    std::span<const std::byte> bytes);

}  // namespace flywheel
