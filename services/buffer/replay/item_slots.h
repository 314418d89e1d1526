#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/key_index.h"
#include "services/buffer/replay/paged_array.h"
#include "services/buffer/replay/record_references.h"

namespace flywheel {

// An item as it lies in a table: 32 bytes, and 8 for each record where it has
// more than one.
struct StoredItem {
  uint64_t key = 0;
  double priority = 0.0;
  // The slot of the only record; or, with kSeveralRecords, of the first link
  // to one.
  uint32_t record = 0;
  uint32_t first_offset = 0;
  uint32_t num_steps = 0;
  uint32_t times_sampled = 0;
};

// Says that StoredItem::record is a link.
inline constexpr uint32_t kSeveralRecords = uint32_t{1} << 31;

// One record of an item that has several.
struct RecordLink {
  static constexpr uint32_t kNone = ~uint32_t{0};

  RecordSlot record = 0;
  uint32_t next = kNone;  // Of a free link: the next free one.
};

// Calls `visit` with the slot of each of an item's records, in their order.
template <typename Visit>
void ForEachRecord(const StoredItem& item, const PagedArray<RecordLink>& links,
                   Visit visit) {
  if ((item.record & kSeveralRecords) == 0) {
    visit(RecordSlot{item.record});
    return;
  }
  for (uint32_t at = item.record & ~kSeveralRecords; at != RecordLink::kNone;
       at = links[at].next) {
    visit(links[at].record);
  }
}

// The items of one table, by slot and by key.
//
// Slots have no gaps: where an item is removed, the last one takes its slot.
// Not thread-safe.
class ItemSlots {
 public:
  static constexpr Slot kNone = KeyIndex::kNone;

  explicit ItemSlots(std::size_t items_expected) : index_(items_expected) {}

  std::size_t size() const { return items_.size(); }
  const StoredItem& operator[](Slot slot) const { return items_[slot]; }

  // The item's slot, or kNone.
  Slot Find(uint64_t key) const {
    return index_.Find(key, [this](Slot slot) { return items_[slot].key; });
  }

  // Ask for what Find() or an access needs to be in the cache soon.
  void PrefetchKey(uint64_t key) const { index_.Prefetch(key); }
  void Prefetch(Slot slot) const { items_.Prefetch(slot); }

  template <typename Visit>
  void VisitRecords(Slot slot, Visit visit) const {
    ForEachRecord(items_[slot], links_, visit);
  }

  // Adds an item, whose `record` need not be set. REQUIRES: its key is not
  // there; `records` are not empty.
  void Append(StoredItem item, std::span<const RecordSlot> records);

  void SetPriority(Slot slot, double priority) {
    items_.Mutable(slot).priority = priority;
  }

  // Counts a draw, and returns how many there were.
  uint32_t CountSample(Slot slot);

  void Remove(Slot slot);
  void Clear();

  PagedArray<StoredItem> ShareItems() { return items_.Share(); }
  PagedArray<RecordLink> ShareLinks() { return links_.Share(); }

 private:
  uint32_t MakeLink(const RecordLink& link);
  void FreeLinks(uint32_t first);

  KeyIndex index_;
  PagedArray<StoredItem> items_;
  PagedArray<RecordLink> links_;
  uint32_t first_free_link_ = RecordLink::kNone;
};

}  // namespace flywheel
