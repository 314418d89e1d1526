#include "services/buffer/log/log_recovery.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "services/buffer/log/failpoints.h"
#include "services/buffer/log/segment_file.h"
#include "services/buffer/log/segment_scan.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

using State = SegmentFile::State;

// The newest so many segments may not have been synced by the last life. Under
// kProcess older ones are left to the system.
constexpr std::size_t kUnsyncedSegmentsMax = 64;

// They are, unless a disk wrote one block in place of another.
void SortById(std::vector<SegmentRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto same = [](const auto& a, const auto& b) { return a.id == b.id; };
  rows.erase(std::unique(rows.begin(), rows.end(), same), rows.end());
}

class Recovery {
 public:
  Recovery(LogFiles& files, Durability durability)
      : files_(files), durability_(durability) {}

  absl::StatusOr<RecoveredLog> Run() {
    FLYWHEEL_RETURN_IF_ERROR(ReadFolder());
    FLYWHEEL_RETURN_IF_ERROR(CheckDurability());
    FLYWHEEL_RETURN_IF_ERROR(RemovePartial());
    FLYWHEEL_RETURN_IF_ERROR(RemoveOfMemory());
    FLYWHEEL_RETURN_IF_ERROR(RemoveReplaced());
    FLYWHEEL_RETURN_IF_ERROR(PutAsideUnreadable());
    Failpoint("recover.after_retire");
    FLYWHEEL_RETURN_IF_ERROR(TakeOverAll());
    if (changed_folder_ && durability_ != Durability::kMemory) {
      FLYWHEEL_RETURN_IF_ERROR(files_.SyncFolder());
    }
    return std::move(log_);
  }

 private:
  absl::Status ReadFolder();
  absl::Status CheckDurability() const;
  absl::Status RemovePartial();
  absl::Status RemoveOfMemory();
  absl::Status RemoveReplaced();
  absl::Status PutAsideUnreadable();
  absl::Status TakeOverAll();
  absl::Status NoteUnsynced(const SegmentFile& segment);
  absl::Status Scan(SegmentFile& segment);
  absl::StatusOr<SegmentFile> SealScanned(const SegmentFile& segment,
                                          const SegmentScan& scan) const;
  void AddSealed(const SegmentFile& segment);
  void ReportScan(const SegmentFile& segment, const SegmentScan& scan);
  void ReportLostIds(const SegmentFile& segment, uint64_t last_id);

  absl::Status Remove(const std::string& name) {
    changed_folder_ = true;
    return files_.Remove(name);
  }
  void Say(std::string message) {
    log_.report.messages.push_back(std::move(message));
  }
  void SeeNumber(uint32_t number) {
    log_.next_number = std::max(log_.next_number, number + 1);
  }
  void SeeId(uint64_t id) { log_.next_id = std::max(log_.next_id, id + 1); }

  LogFiles& files_;
  const Durability durability_;
  std::vector<std::string> partial_;
  std::map<uint32_t, SegmentFile> segments_;
  uint32_t newest_ = 0;  // Number of the newest segment of appended entries.
  bool changed_folder_ = false;
  RecoveredLog log_;
};

absl::Status Recovery::ReadFolder() {
  const absl::StatusOr<std::vector<std::string>> names = files_.List();
  if (!names.ok()) return names.status();
  for (const std::string& name : *names) {
    if (absl::EndsWith(name, kPartialSuffix)) partial_.push_back(name);
    const std::string stem(absl::StripSuffix(
        absl::StripSuffix(name, kPartialSuffix), kDamagedSuffix));
    const std::optional<uint32_t> number = SegmentNumber(stem);
    if (!number.has_value()) continue;
    SeeNumber(*number);
    if (stem != name) continue;
    absl::StatusOr<SegmentFile> segment = ReadSegmentFile(files_, *number);
    if (!segment.ok()) return segment.status();
    for (const uint64_t other : segment->replaced) {
      SeeNumber(static_cast<uint32_t>(other));
    }
    segments_.emplace(*number, *std::move(segment));
  }
  return absl::OkStatus();
}

absl::Status Recovery::CheckDurability() const {
  if (durability_ != Durability::kMemory) return absl::OkStatus();
  for (const auto& [number, segment] : segments_) {
    if (segment.state == State::kBlank ||
        segment.header.durability == Durability::kMemory) {
      continue;
    }
    return absl::FailedPreconditionError(
        absl::StrCat("durability memory removes what a former life wrote, and ",
                     segment.name, " was written to last; move it away first"));
  }
  return absl::OkStatus();
}

absl::Status Recovery::RemovePartial() {
  for (const std::string& name : partial_) {
    Say(absl::StrCat(name, ": removed, its compaction was not finished"));
    FLYWHEEL_RETURN_IF_ERROR(Remove(name));
  }
  return absl::OkStatus();
}

absl::Status Recovery::RemoveOfMemory() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    const bool known = segment->second.state == State::kSealed ||
                       segment->second.state == State::kUnsealed;
    if (!known || segment->second.header.durability != Durability::kMemory) {
      ++segment;
      continue;
    }
    ++log_.report.memory_segments;
    FLYWHEEL_RETURN_IF_ERROR(Remove(segment->second.name));
    segment = segments_.erase(segment);
  }
  if (log_.report.memory_segments > 0) {
    Say(absl::StrCat(log_.report.memory_segments,
                     " segments removed: their durability was memory, so the "
                     "former life's entries are lost"));
  }
  return absl::OkStatus();
}

absl::Status Recovery::RemoveReplaced() {
  std::set<uint64_t> replaced;
  for (const auto& [number, segment] : segments_) {
    replaced.insert(segment.replaced.begin(), segment.replaced.end());
  }
  for (const uint64_t number : replaced) {
    const auto found = segments_.find(static_cast<uint32_t>(number));
    if (found == segments_.end()) continue;
    Say(absl::StrCat(found->second.name,
                     ": removed, its live entries were moved by compaction"));
    FLYWHEEL_RETURN_IF_ERROR(Remove(found->second.name));
    segments_.erase(found);
  }
  return absl::OkStatus();
}

absl::Status Recovery::PutAsideUnreadable() {
  for (auto segment = segments_.begin(); segment != segments_.end();) {
    const std::string& name = segment->second.name;
    if (segment->second.state == State::kBlank) {
      Say(absl::StrCat(name, ": removed, it holds nothing but zeros"));
      FLYWHEEL_RETURN_IF_ERROR(Remove(name));
    } else if (segment->second.state == State::kUnreadable) {
      const uint64_t bytes = segment->second.mapped->bytes().size();
      log_.report.damaged_bytes += bytes;
      Say(absl::StrCat(name, ": header and footer are damaged, so none of its ",
                       bytes, " bytes can be read; kept as ", name,
                       kDamagedSuffix));
      FLYWHEEL_RETURN_IF_ERROR(files_.Rename(name, name + kDamagedSuffix));
      changed_folder_ = true;
    } else {
      if (!segment->second.header.compacted) newest_ = segment->first;
      ++segment;
      continue;
    }
    segment = segments_.erase(segment);
  }
  return absl::OkStatus();
}

absl::Status Recovery::TakeOverAll() {
  std::size_t left = segments_.size();
  for (auto& [number, segment] : segments_) {
    if (segment.header.first_id > 0) SeeId(segment.header.first_id - 1);
    if (durability_ == Durability::kDisk || left <= kUnsyncedSegmentsMax) {
      FLYWHEEL_RETURN_IF_ERROR(NoteUnsynced(segment));
    }
    if (segment.state == State::kSealed) {
      AddSealed(segment);
    } else {
      FLYWHEEL_RETURN_IF_ERROR(Scan(segment));
    }
    --left;
  }
  return absl::OkStatus();
}

// What is found is taken for durable from now on, so it has to become that.
absl::Status Recovery::NoteUnsynced(const SegmentFile& segment) {
  std::shared_ptr<LogFile> file = segment.file;
  if (file == nullptr) {
    absl::StatusOr<std::unique_ptr<LogFile>> opened = files_.Open(segment.name);
    if (!opened.ok()) return opened.status();
    file = *std::move(opened);
  }
  if (durability_ == Durability::kDisk) return file->Sync();
  log_.unsynced.push_back(std::move(file));
  return absl::OkStatus();
}

absl::Status Recovery::Scan(SegmentFile& segment) {
  const bool newest = segment.number == newest_;
  absl::Status read_error;
  const uint64_t readable = ReadableBytes(*segment.mapped, read_error);
  if (!read_error.ok()) Say(std::string(read_error.message()));
  SegmentScan scan =
      ScanSegment(segment.mapped->bytes().first(readable), segment.header.token,
                  newest ? OnDamage::kCut : OnDamage::kSkip);
  SortById(scan.rows);
  Failpoint("recover.after_scan");
  SeeId(scan.max_id);
  ++log_.report.segments_scanned;
  ReportScan(segment, scan);

  const bool whole = read_error.ok() && scan.bytes_end <= scan.entries_end &&
                     segment.header.file_bytes == readable;
  if (newest && whole && segment.header.durability == durability_) {
    log_.writer.emplace(segment.header, segment.file, segment.mapped,
                        std::move(scan.rows), scan.entries_end);
    return absl::OkStatus();
  }
  Failpoint("recover.before_cut");
  const absl::StatusOr<SegmentFile> sealed = SealScanned(segment, scan);
  Failpoint("recover.after_cut");
  if (sealed.ok()) {
    AddSealed(*sealed);
    return absl::OkStatus();
  }
  Say(absl::StrCat(segment.name, ": served, but not sealed: ",
                   std::string(sealed.status().message())));
  segment.rows = SegmentRows(std::move(scan.rows));
  AddSealed(segment);
  return absl::OkStatus();
}

// Puts the footer where nothing was ever written: into the zeros at the end of
// the file, else behind it.
absl::StatusOr<SegmentFile> Recovery::SealScanned(
    const SegmentFile& segment, const SegmentScan& scan) const {
  const uint64_t footer_bytes =
      scan.rows.size() * sizeof(SegmentRow) + kTrailerBytes;
  const uint64_t file_bytes = segment.mapped->bytes().size();
  SegmentHeader header = segment.header;
  header.file_bytes = file_bytes;
  if (file_bytes % kSegmentPageBytes != 0 ||
      scan.bytes_end + footer_bytes > file_bytes) {
    header.file_bytes =
        RoundUp(std::max(file_bytes, scan.bytes_end), kSegmentPageBytes) +
        RoundUp(footer_bytes, kSegmentPageBytes);
  }
  const absl::StatusOr<uint64_t> rows_offset =
      WriteFooter(*segment.file, header, scan.rows, {}, scan.entries_end);
  if (!rows_offset.ok()) return rows_offset.status();
  ReleaseGap(*segment.file, scan.bytes_end, *rows_offset);
  FLYWHEEL_RETURN_IF_ERROR(segment.file->Sync());
  absl::StatusOr<SegmentFile> sealed = ReadSegmentFile(files_, segment.number);
  if (sealed.ok() && sealed->state != State::kSealed) {
    return absl::DataLossError("its new footer cannot be read back");
  }
  return sealed;
}

void Recovery::AddSealed(const SegmentFile& segment) {
  for (const SegmentRow& row : segment.rows.rows()) SeeId(row.id);
  log_.sealed.push_back({.header = segment.header,
                         .mapped = segment.mapped,
                         .rows = segment.rows,
                         .sealed = true,
                         .disk_bytes = segment.disk_bytes});
}

void Recovery::ReportScan(const SegmentFile& segment, const SegmentScan& scan) {
  const uint64_t last_id = scan.rows.empty() ? 0 : scan.rows.back().id;
  const bool newest = segment.number == newest_;
  log_.report.damaged_bytes += scan.damaged_bytes;
  log_.report.dropped_entries += scan.dropped_entries;
  if (newest && scan.damaged_bytes > 0) {
    Say(absl::StrCat(segment.name, ": cut at ", scan.entries_end,
                     " behind entry ", last_id, ", ",
                     scan.bytes_end - scan.entries_end,
                     " bytes of a torn or damaged tail, among them ",
                     scan.dropped_entries, " intact entries"));
  } else if (scan.damaged_bytes > 0) {
    Say(absl::StrCat(segment.name, ": passed over ", scan.damaged_bytes,
                     " damaged bytes among ", scan.rows.size(), " entries"));
  }
  if (!newest && !segment.header.compacted) ReportLostIds(segment, last_id);
}

// Ids are given in order, so the next segment's first one says what must have
// stood here.
void Recovery::ReportLostIds(const SegmentFile& segment, uint64_t last_id) {
  auto next = segments_.upper_bound(segment.number);
  while (next != segments_.end() && next->second.header.compacted) ++next;
  if (next == segments_.end()) return;
  const uint64_t first = std::max(last_id + 1, segment.header.first_id);
  const uint64_t end = next->second.header.first_id;
  if (first >= end) return;
  Say(absl::StrCat(segment.name, ": entries ", first, " to ", end - 1,
                   " that stood at its end are lost, as far as they lived"));
}

}  // namespace

absl::StatusOr<RecoveredLog> RecoverLog(LogFiles& files,
                                        Durability durability) {
  return Recovery(files, durability).Run();
}

}  // namespace flywheel
