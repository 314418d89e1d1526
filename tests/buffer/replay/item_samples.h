#pragma once

#include <cstdint>
#include <optional>

#include "services/buffer/replay/replay_item.h"
#include "services/core/keyed_random.h"

namespace flywheel {

// Random bits by a seed; a copy gives the same ones.
class SeededBits {
 public:
  explicit SeededBits(uint64_t seed) : state_(seed) {}
  uint64_t operator()() const { return MixBits(++state_); }

 private:
  mutable uint64_t state_;  // A RandomBits calls what is const.
};

// What the tests of tables insert: records are of `kRecordSteps` steps each,
// and record n begins at step n * kRecordSteps of one endless episode.
inline constexpr uint32_t kRecordSteps = 10;
inline constexpr uint32_t kRecordSize = 100;  // In bytes.

inline ItemRecord RecordOf(uint64_t id) {
  return {.id = {id},
          .bytes = kRecordSize,
          .episode = 1,
          .first_step = id * kRecordSteps,
          .num_steps = kRecordSteps};
}

// The steps of records `first` to `last`, all but `first_offset` at the front.
inline ReplayItem ItemOf(uint64_t key, uint64_t first, uint64_t last,
                         double priority = 1.0, uint32_t first_offset = 0) {
  ReplayItem item = {
      .key = key,
      .priority = priority,
      .first_offset = first_offset,
      .num_steps = static_cast<uint32_t>(last - first + 1) * kRecordSteps -
                   first_offset};
  for (uint64_t id = first; id <= last; ++id) {
    item.records.push_back(RecordOf(id));
  }
  return item;
}

// An item of its own record.
inline ReplayItem ItemOf(uint64_t key, double priority = 1.0) {
  return ItemOf(key, key, key, priority);
}

inline std::optional<uint32_t> SizeOf(RecordId /*record*/) {
  return kRecordSize;
}

}  // namespace flywheel
