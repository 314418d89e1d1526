#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "services/buffer/replay/key_index.h"
#include "services/buffer/replay/paged_array.h"
#include "services/buffer/replay/replay_item.h"

namespace flywheel {

// Where RecordReferences keeps a record; valid while something refers to it.
using RecordSlot = uint32_t;

// Counts which tables' items refer to which records, so that tables share
// records that are stored once, and each knows how many bytes it keeps alive.
//
// A record that nothing refers to any more is dead; CollectDead() says so at a
// moment of the caller's choosing, e.g. after what was sampled is sent.
//
// Not thread-safe.
class RecordReferences {
 public:
  static constexpr RecordSlot kNone = KeyIndex::kNone;

  explicit RecordReferences(int num_tables, std::size_t records_expected = 0);

  // One more reference by `table` to `id`, which has so many bytes (the first
  // word counts). nullopt: the record is lost, it counts for nothing.
  RecordSlot Add(int table, RecordId id, std::optional<uint32_t> bytes);

  // One less. REQUIRES: `table` refers to it.
  void Remove(int table, RecordSlot slot);

  // Calls `dead` for each record that died since the last call and was not
  // referred to anew. `dead` must not call back.
  void CollectDead(absl::FunctionRef<void(RecordId id, uint32_t bytes)> dead);

  // Ask for what Add() or id() looks at to be in the cache soon.
  void PrefetchRecord(RecordId id) const { index_.Prefetch(id.value); }
  void Prefetch(RecordSlot slot) const { records_.Prefetch(slot); }

  // How many bytes `table` would keep alive in addition with this record.
  uint32_t NewBytes(int table, const ItemRecord& record) const;

  RecordId id(RecordSlot slot) const { return {records_[slot].id}; }
  bool lost(RecordSlot slot) const { return records_[slot].lost != 0; }
  // Does anything refer to it?
  bool IsLive(RecordId id) const;

  // Of the records that `table` refers to, each counted once.
  std::size_t num_records(int table) const { return totals_[table].records; }
  uint64_t bytes(int table) const { return totals_[table].bytes; }

  // Of all tables together.
  std::size_t num_live() const { return index_.size() - num_dead_; }
  std::size_t num_lost() const { return num_lost_; }
  uint64_t bytes() const { return bytes_; }

  struct Record {
    uint64_t id = 0;  // Of a free slot: the next free one.
    uint32_t bytes = 0;
    uint32_t references : 30 = 0;  // Of all tables.
    uint32_t dying : 1 = 0;        // In dying_.
    uint32_t lost : 1 = 0;
  };

  // For images: the ids, by slot.
  PagedArray<Record> ShareRecords() { return records_.Share(); }

 private:
  struct Totals {
    std::size_t records = 0;
    uint64_t bytes = 0;
  };

  uint32_t Count(int table, RecordSlot slot) const {
    return counts_.empty() ? records_[slot].references : counts_[table][slot];
  }
  RecordSlot Find(RecordId id) const;
  RecordSlot MakeSlot(const Record& record);
  void FreeSlot(RecordSlot slot);

  KeyIndex index_;  // From ids to slots.
  PagedArray<Record> records_;
  RecordSlot first_free_ = kNone;
  // [table], then by slot; empty for one table: the records' own say the same.
  std::vector<PagedArray<uint32_t>> counts_;
  std::vector<Totals> totals_;     // [table]
  std::vector<RecordSlot> dying_;  // Had no reference at some moment.
  std::size_t num_dead_ = 0;       // Have none now.
  std::size_t num_lost_ = 0;       // Without the dead.
  uint64_t bytes_ = 0;
};

}  // namespace flywheel
