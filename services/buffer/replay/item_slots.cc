#include "services/buffer/replay/item_slots.h"

#include <limits>

namespace flywheel {

void ItemSlots::Append(StoredItem item, std::span<const RecordSlot> records) {
  item.record = records.front();
  if (records.size() > 1) {
    uint32_t next = RecordLink::kNone;
    for (std::size_t i = records.size(); i-- > 0;) {
      next = MakeLink({.record = records[i], .next = next});
    }
    item.record = next | kSeveralRecords;
  }
  index_.Insert(item.key, static_cast<Slot>(items_.size()));
  items_.PushBack(item);
}

uint32_t ItemSlots::CountSample(Slot slot) {
  uint32_t& times = items_.Mutable(slot).times_sampled;
  if (times < std::numeric_limits<uint32_t>::max()) ++times;
  return times;
}

void ItemSlots::Remove(Slot slot) {
  const StoredItem& gone = items_[slot];
  if ((gone.record & kSeveralRecords) != 0) {
    FreeLinks(gone.record & ~kSeveralRecords);
  }
  index_.Erase(gone.key, slot);
  const auto last = static_cast<Slot>(items_.size() - 1);
  if (slot != last) {
    index_.Move(items_[last].key, last, slot);
    items_.Set(slot, items_[last]);
  }
  items_.PopBack();
}

void ItemSlots::Clear() {
  index_.Clear();
  items_.Clear();
  links_.Clear();
  first_free_link_ = RecordLink::kNone;
}

uint32_t ItemSlots::MakeLink(const RecordLink& link) {
  if (first_free_link_ == RecordLink::kNone) {
    links_.PushBack(link);
    return static_cast<uint32_t>(links_.size() - 1);
  }
  const uint32_t made = first_free_link_;
  first_free_link_ = links_[made].next;
  links_.Set(made, link);
  return made;
}

void ItemSlots::FreeLinks(uint32_t first) {
  while (first != RecordLink::kNone) {
    const uint32_t next = links_[first].next;
    links_.Mutable(first).next = first_free_link_;
    first_free_link_ = first;
    first = next;
  }
}

}  // namespace flywheel
