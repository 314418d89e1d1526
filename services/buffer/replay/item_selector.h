#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "services/buffer/replay/image_bytes.h"

namespace flywheel {

// An item's place in its table. The items of a table have the slots 0 to
// size - 1: where one is removed, the last one takes its slot.
using Slot = uint32_t;

struct Selection {
  Slot slot = 0;
  double probability = 1.0;  // Of this one, when it was selected.
};

// What a selector knows beyond the items' slots and priorities, at one moment.
// Any thread may write it out.
class SelectorImage {
 public:
  virtual ~SelectorImage() = default;
  virtual void Write(ImageWriter& image) const = 0;
};

// Decides which item of a table is next: to be sampled, or to be removed when
// the table is full. Two selectors of one kind that were told the same decide
// the same, whatever machine they are on.
//
// REQUIRES of all callers: slots below size(), priorities that CheckPriority()
// accepts. Not thread-safe.
class ItemSelector {
 public:
  virtual ~ItemSelector() = default;

  virtual std::size_t size() const = 0;

  // A new item, of slot size().
  virtual void Append(double priority) = 0;

  virtual void Update(Slot slot, double priority) = 0;

  // The last item takes the slot of the one that goes.
  virtual void Remove(Slot slot) = 0;

  // REQUIRES: size() > 0. `random_bits` are uniform in all 64 bits.
  virtual Selection Select(uint64_t random_bits) const = 0;

  virtual void Clear() = 0;

  // This moment's image; nullptr where slots and priorities say all.
  virtual std::unique_ptr<SelectorImage> Share() { return nullptr; }

  // Takes over what Write() wrote, after the same items were appended.
  // DataLoss, saying what is wrong, if it cannot be.
  virtual absl::Status Read(ByteReader& /*image*/) { return absl::OkStatus(); }
};

enum class SelectorKind : uint8_t {
  kFifo = 1,         // The oldest.
  kLifo = 2,         // The newest.
  kUniform = 3,      // Each equally often.
  kPrioritized = 4,  // In proportion to priority ^ priority_exponent.
  kMinHeap = 5,      // Of the lowest priority the least recently set.
  kMaxHeap = 6,      // Of the highest priority the least recently set.
};

struct SelectorOptions {
  SelectorKind kind = SelectorKind::kUniform;
  double priority_exponent = 1.0;  // 0 to kPriorityExponentMax; kPrioritized.

  bool operator==(const SelectorOptions&) const = default;
};

// kPriorityMax to this power, times any number of items, is still finite.
inline constexpr double kPriorityExponentMax = 8.0;

// "fifo", "prioritized", ...; "unknown" for no kind.
const char* SelectorName(SelectorKind kind);

// InvalidArgument naming the field, the rule and the value.
absl::Status Validate(const SelectorOptions& options);

// REQUIRES: Validate(options).ok().
std::unique_ptr<ItemSelector> MakeItemSelector(const SelectorOptions& options);

}  // namespace flywheel
