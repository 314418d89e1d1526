#include "services/buffer/log/entry_index.h"

namespace flywheel {

bool EntryIndex::Insert(EntryId id, const EntryPlace& place) {
  // Ids mostly arrive in order: then the hint saves the search.
  auto page = pages_.empty() ? pages_.end() : std::prev(pages_.end());
  if (page == pages_.end() || page->first != id.value / kPageIds) {
    page = pages_.try_emplace(id.value / kPageIds).first;
    if (page->second == nullptr) page->second = std::make_unique<Page>();
  }
  EntryPlace& slot = page->second->places[id.value % kPageIds];
  if (slot.size_units != 0) return false;
  slot = place;
  ++page->second->live;
  ++size_;
  return true;
}

EntryPlace* EntryIndex::Slot(EntryId id) const {
  const auto page = pages_.find(id.value / kPageIds);
  if (page == pages_.end()) return nullptr;
  EntryPlace& slot = page->second->places[id.value % kPageIds];
  return slot.size_units == 0 ? nullptr : &slot;
}

const EntryPlace* EntryIndex::Find(EntryId id) const { return Slot(id); }

void EntryIndex::Move(EntryId id, const EntryPlace& place) {
  *Slot(id) = place;
}

void EntryIndex::Erase(EntryId id) {
  const auto page = pages_.find(id.value / kPageIds);
  page->second->places[id.value % kPageIds] = {};
  --size_;
  if (--page->second->live == 0) pages_.erase(page);
}

}  // namespace flywheel
