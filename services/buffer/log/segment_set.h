#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "services/buffer/log/compaction_policy.h"
#include "services/buffer/log/entry_index.h"
#include "services/buffer/log/mapped_file.h"
#include "services/buffer/log/segment_layout.h"
#include "services/buffer/log/segment_rows.h"

namespace flywheel {

// Which segments there are, which entries live in them, and what they take.
//
// Not thread-safe: RecordLog's lock guards it.
class SegmentSet {
 public:
  struct Segment {
    SegmentHeader header;
    std::shared_ptr<const MappedFile> mapped;
    SegmentRows rows;  // Empty while it takes entries.
    bool sealed = false;
    uint64_t disk_bytes = 0;
    uint64_t live_entries = 0;
    uint64_t live_bytes = 0;
  };

  struct Found {
    EntryPlace place;
    const Segment* segment = nullptr;
  };

  void Add(Segment segment);
  void Seal(uint32_t number, SegmentRows rows, uint64_t disk_bytes);

  // A new entry. False if the id is there already: the entry counts as dead.
  bool Insert(uint32_t segment, const SegmentRow& row);

  // False if it is dead or never was.
  bool MarkDead(EntryId id);

  // A live entry and its segment; valid until the next change.
  std::optional<Found> Find(EntryId id) const;

  // Those of `rows` of `segment` that are live there.
  std::vector<SegmentRow> LiveOf(uint32_t segment,
                                 std::span<const SegmentRow> rows) const;

  // The entry of `row` now stands in segment `to`, unless it died meanwhile.
  void Move(uint32_t from, uint32_t to, const SegmentRow& row);

  // REQUIRES: no entry lives in it. Readers may have it mapped still: until
  // they let go it counts as held.
  void Remove(uint32_t number);

  std::vector<uint32_t> ChooseForCompaction(uint64_t segment_bytes) const;
  // Whether something changed so that it may be worth to choose.
  bool compaction_due() const { return compaction_due_; }
  void SetCompactionDue() { compaction_due_ = true; }
  bool TakeCompactionDue() { return std::exchange(compaction_due_, false); }

  const Segment& at(uint32_t number) const { return segments_.at(number); }
  const std::map<uint32_t, Segment>& all() const { return segments_; }

  std::size_t live_entries() const { return index_.size(); }
  uint64_t live_bytes() const { return live_bytes_; }
  uint64_t disk_bytes() const { return disk_bytes_; }
  uint64_t HeldBytes();

 private:
  struct Held {
    std::weak_ptr<const MappedFile> mapped;
    uint64_t disk_bytes = 0;
  };

  void CountLive(Segment& segment, uint64_t bytes);
  void CountDead(Segment& segment, uint64_t bytes);

  EntryIndex index_;
  std::map<uint32_t, Segment> segments_;  // By number.
  std::vector<Held> held_;
  uint64_t live_bytes_ = 0;
  uint64_t disk_bytes_ = 0;
  bool compaction_due_ = false;
};

}  // namespace flywheel
