#include "services/buffer/log/segment_set.h"

#include <utility>

namespace flywheel {
namespace {

EntryPlace PlaceOf(uint32_t segment, const SegmentRow& row) {
  return {.segment = segment,
          .offset_units = row.offset_units,
          .size_units = static_cast<uint32_t>(EntryBytes(row.payload_bytes) /
                                              kEntryAlignment)};
}

SegmentUse UseOf(const SegmentSet::Segment& segment) {
  return {.number = segment.header.number,
          .disk_bytes = segment.disk_bytes,
          .live_bytes = segment.live_bytes};
}

uint64_t BytesWithRow(const EntryPlace& place) {
  return place.size_units * kEntryAlignment + sizeof(SegmentRow);
}

}  // namespace

void SegmentSet::Add(Segment segment) {
  compaction_due_ |= segment.sealed;
  disk_bytes_ += segment.disk_bytes;
  segments_[segment.header.number] = std::move(segment);
}

void SegmentSet::Seal(uint32_t number, SegmentRows rows, uint64_t disk_bytes) {
  Segment& segment = segments_.at(number);
  disk_bytes_ += disk_bytes - segment.disk_bytes;
  segment.disk_bytes = disk_bytes;
  segment.rows = std::move(rows);
  segment.sealed = true;
  compaction_due_ = true;
}

bool SegmentSet::Insert(uint32_t segment, const SegmentRow& row) {
  const EntryPlace place = PlaceOf(segment, row);
  if (!index_.Insert({row.id}, place)) return false;
  CountLive(segments_.at(segment), BytesWithRow(place));
  return true;
}

bool SegmentSet::MarkDead(EntryId id) {
  const EntryPlace* place = index_.Find(id);
  if (place == nullptr) return false;
  CountDead(segments_.at(place->segment), BytesWithRow(*place));
  index_.Erase(id);
  return true;
}

std::optional<SegmentSet::Found> SegmentSet::Find(EntryId id) const {
  const EntryPlace* place = index_.Find(id);
  if (place == nullptr) return std::nullopt;
  return Found{*place, &segments_.at(place->segment)};
}

std::vector<SegmentRow> SegmentSet::LiveOf(
    uint32_t segment, std::span<const SegmentRow> rows) const {
  std::vector<SegmentRow> live;
  for (const SegmentRow& row : rows) {
    const EntryPlace* place = index_.Find({row.id});
    if (place != nullptr && place->segment == segment &&
        place->offset_units == row.offset_units) {
      live.push_back(row);
    }
  }
  return live;
}

void SegmentSet::Move(uint32_t from, uint32_t to, const SegmentRow& row) {
  const EntryPlace* old = index_.Find({row.id});
  if (old == nullptr || old->segment != from) return;
  const uint64_t bytes = BytesWithRow(*old);
  index_.Move({row.id}, PlaceOf(to, row));
  CountDead(segments_.at(from), bytes);
  CountLive(segments_.at(to), bytes);
}

void SegmentSet::Remove(uint32_t number) {
  const auto found = segments_.find(number);
  disk_bytes_ -= found->second.disk_bytes;
  held_.push_back({found->second.mapped, found->second.disk_bytes});
  segments_.erase(found);
}

std::vector<uint32_t> SegmentSet::ChooseForCompaction(
    uint64_t segment_bytes) const {
  std::vector<SegmentUse> uses;
  for (const auto& [number, segment] : segments_) {
    if (segment.sealed) uses.push_back(UseOf(segment));
  }
  return flywheel::ChooseForCompaction(uses, segment_bytes);
}

uint64_t SegmentSet::HeldBytes() {
  std::erase_if(held_, [](const Held& h) { return h.mapped.expired(); });
  uint64_t bytes = 0;
  for (const Held& held : held_) bytes += held.disk_bytes;
  return bytes;
}

void SegmentSet::CountLive(Segment& segment, uint64_t bytes) {
  ++segment.live_entries;
  segment.live_bytes += bytes;
  live_bytes_ += bytes;
}

void SegmentSet::CountDead(Segment& segment, uint64_t bytes) {
  --segment.live_entries;
  segment.live_bytes -= bytes;
  live_bytes_ -= bytes;
  compaction_due_ |= segment.sealed && IsMostlyDead(UseOf(segment));
}

}  // namespace flywheel
