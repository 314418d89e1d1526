#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/container/btree_map.h"
#include "services/buffer/log/log_entry.h"

namespace flywheel {

// Where one live entry stands.
struct EntryPlace {
  uint32_t segment = 0;
  uint32_t offset_units = 0;  // kEntryAlignment bytes each.
  uint32_t size_units = 0;    // Header and padding included; never 0.
};

// The places of the live entries by id, 13 bytes each where ids are dense:
// pages of 256 neighboring ids, freed with their last live one.
//
// Not thread-safe.
class EntryIndex {
 public:
  // False, and nothing changes, if `id` is there already.
  bool Insert(EntryId id, const EntryPlace& place);

  // Nothing if `id` is dead or never was. The pointer is valid until the next
  // change.
  const EntryPlace* Find(EntryId id) const;

  // REQUIRES: Find(id) != nullptr.
  void Move(EntryId id, const EntryPlace& place);
  void Erase(EntryId id);

  std::size_t size() const { return size_; }

 private:
  static constexpr uint64_t kPageIds = 256;

  struct Page {
    std::array<EntryPlace, kPageIds> places{};  // size_units 0: none.
    uint32_t live = 0;
  };

  EntryPlace* Slot(EntryId id) const;

  absl::btree_map<uint64_t, std::unique_ptr<Page>> pages_;  // By id / kPageIds.
  std::size_t size_ = 0;
};

}  // namespace flywheel
