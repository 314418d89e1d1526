#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "services/core/keyed_random.h"

namespace flywheel {

// Finds the slot of a key; the keys themselves are where the slots are.
//
// Open addressing with linear probing. An entry holds half of the key's hash
// beside the slot, so that probing and growing never look at the keys, and
// erasing closes the gap, so that nothing has to be swept up later: no
// operation ever takes long but growing, and that only beyond the number of
// keys expected. Eight bytes an entry, at most 4/5 of them used.
//
// Not thread-safe.
class KeyIndex {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Memory for the keys expected, up to this many, is reserved at once; it is
  // the system's until it is touched.
  static constexpr std::size_t kReservedKeysMax = std::size_t{1} << 24;

  explicit KeyIndex(std::size_t keys_expected = 0) {
    Allocate(std::min(keys_expected, kReservedKeysMax));
  }

  std::size_t size() const { return size_; }

  // The slot of `key`, or kNone. `key_at(slot)` tells a slot's key.
  template <typename KeyAt>
  uint32_t Find(uint64_t key, KeyAt key_at) const {
    const uint32_t hash = Hash(key);
    for (std::size_t at = Home(hash); entries_[at].slot_plus_1 != 0;
         at = Next(at)) {
      const Entry& entry = entries_[at];
      if (entry.hash == hash && key_at(entry.slot_plus_1 - 1) == key) {
        return entry.slot_plus_1 - 1;
      }
    }
    return kNone;
  }

  // Asks for what Find() looks at first to be in the cache soon.
  void Prefetch(uint64_t key) const {
    __builtin_prefetch(&entries_[Home(Hash(key))]);
  }

  // REQUIRES: `key` is not there; slot < kNone.
  void Insert(uint64_t key, uint32_t slot) {
    if (size_ + 1 > size_max_) Grow();
    Put({.hash = Hash(key), .slot_plus_1 = slot + 1});
    ++size_;
  }

  // REQUIRES: `key` is there, with this slot.
  void Erase(uint64_t key, uint32_t slot) {
    std::size_t gap = Locate(key, slot);
    for (std::size_t at = Next(gap); entries_[at].slot_plus_1 != 0;
         at = Next(at)) {
      // An entry may fill the gap unless its home lies between the two.
      const std::size_t home = Home(entries_[at].hash);
      if (Distance(home, at) >= Distance(gap, at)) {
        entries_[gap] = entries_[at];
        gap = at;
      }
    }
    entries_[gap] = {};
    --size_;
  }

  // `key` is at another slot now. REQUIRES: it is there, with slot `from`.
  void Move(uint64_t key, uint32_t from, uint32_t to) {
    entries_[Locate(key, from)].slot_plus_1 = to + 1;
  }

  void Clear() {
    size_ = 0;
    Allocate(size_max_);
  }

 private:
  struct Entry {
    uint32_t hash = 0;
    uint32_t slot_plus_1 = 0;  // 0: the entry is free.
  };
  struct Free {
    void operator()(Entry* entries) const { std::free(entries); }
  };

  // Other numbers in each process, so that no client can choose keys that
  // collide. The order of entries is never seen.
  static uint32_t Hash(uint64_t key) {
    static const uint64_t seed =
        MixBits(reinterpret_cast<std::uintptr_t>(&seed));
    return static_cast<uint32_t>(MixBits(key ^ seed) >> 32);
  }

  std::size_t Home(uint32_t hash) const {
    return static_cast<std::size_t>(uint64_t{hash} * capacity_ >> 32);
  }
  std::size_t Next(std::size_t at) const {
    return at + 1 == capacity_ ? 0 : at + 1;
  }
  std::size_t Distance(std::size_t from, std::size_t to) const {
    return to >= from ? to - from : to + capacity_ - from;
  }

  std::size_t Locate(uint64_t key, uint32_t slot) const {
    std::size_t at = Home(Hash(key));
    while (entries_[at].slot_plus_1 != slot + 1) at = Next(at);
    return at;
  }

  void Put(const Entry& entry) {
    std::size_t at = Home(entry.hash);
    while (entries_[at].slot_plus_1 != 0) at = Next(at);
    entries_[at] = entry;
  }

  void Grow() {
    const std::unique_ptr<Entry[], Free> old = std::move(entries_);
    const std::size_t old_capacity = capacity_;
    Allocate(size_max_ + size_max_ / 2);
    for (std::size_t i = 0; i < old_capacity; ++i) {
      if (old[i].slot_plus_1 != 0) Put(old[i]);
    }
  }

  // Zeroed memory for `size_max` keys.
  void Allocate(std::size_t size_max) {
    size_max_ = std::max<std::size_t>(size_max, 12);
    capacity_ = size_max_ + size_max_ / 4 + 1;
    entries_.reset(static_cast<Entry*>(std::calloc(capacity_, sizeof(Entry))));
    if (entries_ == nullptr) throw std::bad_alloc();
  }

  std::size_t size_ = 0;
  std::size_t size_max_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<Entry[], Free> entries_;
};

}  // namespace flywheel
