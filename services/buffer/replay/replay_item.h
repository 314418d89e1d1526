#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace flywheel {

// Names a record for as long as the buffer has it.
struct RecordId {
  uint64_t value = 0;
  auto operator<=>(const RecordId&) const = default;
};

// A record that an item refers to, as the record's header and the log tell.
struct ItemRecord {
  RecordId id;
  uint32_t bytes = 0;
  // The same for records of one episode, and for no others.
  uint64_t episode = 0;
  uint64_t first_step = 0;  // Of the episode.
  uint32_t num_steps = 0;
};

// What a table holds: `num_steps` consecutive steps of one episode, from step
// `first_offset` of the first record on. Items may overlap, and their records
// are stored once.
struct ReplayItem {
  uint64_t key = 0;  // Unique in its table.
  double priority = 1.0;
  absl::InlinedVector<ItemRecord, 1> records;  // Consecutive.
  uint32_t first_offset = 0;
  uint32_t num_steps = 0;
};

inline constexpr std::size_t kItemRecordsMax = 4096;
// Leaves room for a power of it, and for sums of those.
inline constexpr double kPriorityMax = 1e30;

// InvalidArgument, naming the rule and the value, unless the records follow
// each other in one episode and the steps start in the first one, end in the
// last one, and are at least one.
absl::Status CheckSteps(const ReplayItem& item);

// InvalidArgument for NaN, negative, and more than kPriorityMax.
absl::Status CheckPriority(double priority);

// Tells how many bytes a record has; nullopt if it is lost.
using RecordBytes = absl::FunctionRef<std::optional<uint32_t>(RecordId record)>;

// Gives 64 random bits at each call.
using RandomBits = absl::FunctionRef<uint64_t()>;

}  // namespace flywheel
