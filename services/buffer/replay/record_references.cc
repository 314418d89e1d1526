#include "services/buffer/replay/record_references.h"

namespace flywheel {

RecordReferences::RecordReferences(int num_tables, std::size_t records_expected)
    : index_(records_expected),
      counts_(num_tables > 1 ? num_tables : 0),
      totals_(num_tables) {}

RecordSlot RecordReferences::Add(int table, RecordId id,
                                 std::optional<uint32_t> bytes) {
  RecordSlot slot = Find(id);
  if (slot == kNone) {
    slot = MakeSlot({.id = id.value,
                     .bytes = bytes.value_or(0),
                     .lost = bytes.has_value() ? 0u : 1u});
    index_.Insert(id.value, slot);
    ++num_dead_;  // Until it is referred to, at once.
  }
  Record& record = records_.Mutable(slot);
  if (record.references++ == 0) {
    --num_dead_;
    num_lost_ += record.lost;
    bytes_ += record.bytes;
  }
  if (!counts_.empty()) ++counts_[table].Mutable(slot);
  if (Count(table, slot) == 1) {
    ++totals_[table].records;
    totals_[table].bytes += record.bytes;
  }
  return slot;
}

void RecordReferences::Remove(int table, RecordSlot slot) {
  Record& record = records_.Mutable(slot);
  --record.references;
  if (!counts_.empty()) --counts_[table].Mutable(slot);
  if (Count(table, slot) == 0) {
    --totals_[table].records;
    totals_[table].bytes -= record.bytes;
  }
  if (record.references > 0) return;
  ++num_dead_;
  num_lost_ -= record.lost;
  bytes_ -= record.bytes;
  if (record.dying == 0) dying_.push_back(slot);
  record.dying = 1;
}

void RecordReferences::CollectDead(
    absl::FunctionRef<void(RecordId, uint32_t)> dead) {
  for (const RecordSlot slot : dying_) {
    Record& record = records_.Mutable(slot);
    record.dying = 0;
    if (record.references > 0) continue;
    dead({record.id}, record.bytes);
    --num_dead_;
    index_.Erase(record.id, slot);
    FreeSlot(slot);
  }
  dying_.clear();
}

uint32_t RecordReferences::NewBytes(int table, const ItemRecord& record) const {
  const RecordSlot slot = Find(record.id);
  return slot != kNone && Count(table, slot) > 0 ? 0 : record.bytes;
}

bool RecordReferences::IsLive(RecordId id) const {
  const RecordSlot slot = Find(id);
  return slot != kNone && records_[slot].references > 0;
}

RecordSlot RecordReferences::Find(RecordId id) const {
  return index_.Find(id.value,
                     [this](RecordSlot slot) { return records_[slot].id; });
}

RecordSlot RecordReferences::MakeSlot(const Record& record) {
  if (first_free_ == kNone) {
    records_.PushBack(record);
    for (PagedArray<uint32_t>& counts : counts_) counts.PushBack(0);
    return static_cast<RecordSlot>(records_.size() - 1);
  }
  const RecordSlot slot = first_free_;
  first_free_ = static_cast<RecordSlot>(records_[slot].id);
  records_.Set(slot, record);
  return slot;
}

void RecordReferences::FreeSlot(RecordSlot slot) {
  records_.Set(slot, {.id = first_free_});
  first_free_ = slot;
}

}  // namespace flywheel
