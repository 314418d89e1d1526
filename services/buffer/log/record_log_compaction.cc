// The part of RecordLog that replaces mostly dead segments.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/buffer/log/failpoints.h"
#include "services/buffer/log/record_log.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// So many entries are looked up or moved under one hold of the lock, that
// readers and appenders never wait long.
constexpr std::size_t kEntriesAtOnce = 512;

template <typename T>
std::span<const T> TakeFront(std::span<const T>& items) {
  const std::size_t count = std::min(items.size(), kEntriesAtOnce);
  const std::span<const T> front = items.first(count);
  items = items.subspan(count);
  return front;
}

}  // namespace

absl::StatusOr<bool> RecordLog::Compact() {
  const absl::StatusOr<bool> compacted = CompactOnce();
  CallOut();
  return compacted;
}

absl::StatusOr<bool> RecordLog::CompactOnce() {
  MutexLock compact_lock(compact_mutex_);
  std::vector<uint32_t> numbers;
  {
    MutexLock lock(mutex_);
    segments_.TakeCompactionDue();
    numbers = segments_.ChooseForCompaction(options_.segment_bytes);
  }
  if (numbers.empty()) return false;
  std::span<const uint32_t> some(numbers);
  absl::Status status = Replace(some);
  // Where there is no room for the whole there may be for a part, which then
  // makes room.
  while (absl::IsResourceExhausted(status) && some.size() > 1) {
    some = some.first(some.size() / 2);
    status = Replace(some);
  }
  if (!status.ok()) return status;
  return true;
}

absl::Status RecordLog::Replace(std::span<const uint32_t> numbers) {
  const std::vector<MovingEntry> entries = LiveEntriesOf(numbers);
  if (!entries.empty()) {
    uint64_t bytes = 0;
    for (const MovingEntry& entry : entries) {
      bytes += EntryBytesWithRow(entry.row.payload_bytes);
    }
    const uint64_t file_bytes = SegmentBytesFor(bytes, numbers.size());
    FLYWHEEL_RETURN_IF_ERROR(CheckDiskLimit(file_bytes));
    SegmentHeader header = NewHeader(file_bytes, 0);
    header.compacted = true;
    const std::vector<uint64_t> replaced(numbers.begin(), numbers.end());
    const absl::StatusOr<CompactedSegment> compacted =
        WriteCompacted(files_, header, entries, replaced);
    if (!compacted.ok()) return compacted.status();
    MoveEntries(*compacted, entries);
  }
  Failpoint("compact.after_move");
  RemoveSegments(numbers);
  Failpoint("compact.after_retire");
  return absl::OkStatus();
}

// Sorted by id.
std::vector<MovingEntry> RecordLog::LiveEntriesOf(
    std::span<const uint32_t> numbers) {
  std::vector<MovingEntry> entries;
  for (const uint32_t number : numbers) {
    SegmentSet::Segment segment;
    {
      MutexLock lock(mutex_);
      segment = segments_.at(number);
    }
    std::span<const SegmentRow> left = segment.rows.rows();
    while (!left.empty()) {
      const std::span<const SegmentRow> front = TakeFront(left);
      MutexLock lock(mutex_);
      for (const SegmentRow& row : segments_.LiveOf(number, front)) {
        entries.push_back({.row = row,
                           .from = number,
                           .token = segment.header.token,
                           .mapped = segment.mapped});
      }
    }
  }
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.row.id < b.row.id; });
  return entries;
}

void RecordLog::MoveEntries(const CompactedSegment& compacted,
                            std::span<const MovingEntry> entries) {
  {
    MutexLock lock(mutex_);
    segments_.Add({.header = compacted.header,
                   .mapped = compacted.mapped,
                   .rows = compacted.rows,
                   .sealed = true,
                   .disk_bytes = compacted.disk_bytes});
    for (const SegmentRow& row : compacted.lost) {
      lost_entries_ += segments_.MarkDead({row.id});
    }
  }
  // The rows are the entries without the lost ones, in the same order.
  std::span<const SegmentRow> left = compacted.rows.rows();
  auto entry = entries.begin();
  while (!left.empty()) {
    const std::span<const SegmentRow> front = TakeFront(left);
    MutexLock lock(mutex_);
    for (const SegmentRow& row : front) {
      while (entry->row.id != row.id) ++entry;
      segments_.Move(entry->from, compacted.header.number, row);
    }
  }
  for (const std::string& message : compacted.messages) Notice(message);
}

void RecordLog::RemoveSegments(std::span<const uint32_t> numbers) {
  {
    MutexLock lock(mutex_);
    for (const uint32_t number : numbers) segments_.Remove(number);
  }
  for (const uint32_t number : numbers) {
    const absl::Status status = files_.Remove(SegmentName(number));
    commit_.Forget(SegmentName(number));
    // It costs its space until the next start, which removes it.
    if (!status.ok()) Notice(std::string(status.message()));
  }
  commit_.ChangedFolder();
}

void RecordLog::RunCompaction() {
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stopped_ && !segments_.compaction_due()) changed_.Wait(mutex_);
      if (stopped_) return;
    }
    const absl::StatusOr<bool> compacted = Compact();
    if (compacted.value_or(false)) {
      MutexLock lock(mutex_);  // Perhaps there is more.
      segments_.SetCompactionDue();
    } else if (!compacted.ok()) {
      Notice(absl::StrCat("compaction waits: ",
                          std::string(compacted.status().message())));
      CallOut();
    }
  }
}

}  // namespace flywheel
