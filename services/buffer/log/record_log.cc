#include "services/buffer/log/record_log.h"

#include <algorithm>
#include <filesystem>
#include <queue>
#include <random>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "services/buffer/log/failpoints.h"
#include "services/buffer/log/posix_log_files.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

constexpr uint64_t kSegmentBytesMax = uint64_t{1} << 36;

absl::Status CheckOptions(const RecordLogOptions& options) {
  if (options.folder.empty()) {
    return absl::InvalidArgumentError("folder of the log must be set");
  }
  if (options.segment_bytes < kSegmentPageBytes ||
      options.segment_bytes > kSegmentBytesMax ||
      options.segment_bytes % kSegmentPageBytes != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "segment_bytes must be a multiple of ", kSegmentPageBytes, ", at most ",
        kSegmentBytesMax, ", got ", options.segment_bytes));
  }
  if (options.entry_bytes_max > kSegmentBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("entry_bytes_max must be at most ", kSegmentBytesMax,
                     ", got ", options.entry_bytes_max));
  }
  if (options.disk_bytes_max != 0 &&
      options.disk_bytes_max < 3 * options.segment_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "disk_bytes_max must be 0 or at least three segments of ",
        options.segment_bytes, " bytes, got ", options.disk_bytes_max));
  }
  return absl::OkStatus();
}

absl::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  return error ? absl::UnavailableError(absl::StrCat("cannot create ", folder,
                                                     ": ", error.message()))
               : absl::OkStatus();
}

uint64_t PayloadBytes(const NewEntry& entry) {
  uint64_t bytes = 0;
  for (const std::span<const std::byte> piece : entry.payload) {
    bytes += piece.size();
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<RecordLog>> RecordLog::Open(
    RecordLogOptions options) {
  FLYWHEEL_RETURN_IF_ERROR(ArmFailpointsFromEnvironment());
  FLYWHEEL_RETURN_IF_ERROR(CheckOptions(options));
  FLYWHEEL_RETURN_IF_ERROR(MakeFolder(options.folder));
  absl::StatusOr<FolderLock> lock = FolderLock::Take(options.folder);
  if (!lock.ok()) return lock.status();

  std::unique_ptr<LogFiles> own_files;
  if (options.files == nullptr) {
    own_files = std::make_unique<PosixLogFiles>(options.folder);
    options.files = own_files.get();
  }
  absl::StatusOr<RecoveredLog> recovered =
      RecoverLog(*options.files, options.durability);
  if (!recovered.ok()) return recovered.status();

  std::unique_ptr<RecordLog> log(
      new RecordLog(std::move(options), *std::move(lock), std::move(own_files),
                    {recovered->next_id - 1}));
  log->TakeOver(*std::move(recovered));
  log->StartThreads();
  return log;
}

RecordLog::RecordLog(RecordLogOptions options, FolderLock lock,
                     std::unique_ptr<LogFiles> own_files, EntryId durable)
    : options_(std::move(options)),
      lock_(std::move(lock)),
      own_files_(std::move(own_files)),
      files_(*options_.files),
      commit_(files_,
              {.durability = options_.durability,
               .interval = options_.sync_interval,
               .on_durable = options_.on_durable},
              durable) {}

void RecordLog::TakeOver(RecoveredLog recovered) {
  MutexLock append_lock(append_mutex_);
  MutexLock lock(mutex_);
  next_id_ = recovered.next_id;
  next_number_ = recovered.next_number;
  last_id_ = recovered.next_id - 1;
  writer_ = std::move(recovered.writer);
  recovery_ = std::move(recovered.report);
  for (const std::shared_ptr<LogFile>& file : recovered.unsynced) {
    commit_.Wrote(file, {});
  }
  if (writer_.has_value()) {
    const absl::StatusOr<uint64_t> disk_bytes = writer_->file()->DiskBytes();
    recovered.sealed.push_back(
        {.header = writer_->header(),
         .mapped = writer_->mapped(),
         .disk_bytes = disk_bytes.value_or(writer_->header().file_bytes)});
  }
  uint64_t doubles = 0;
  for (SegmentSet::Segment& segment : recovered.sealed) {
    const uint32_t number = segment.header.number;
    const SegmentRows kept = segment.rows;
    const std::span<const SegmentRow> rows =
        segment.sealed ? kept.rows() : std::span(writer_->rows());
    segments_.Add(std::move(segment));
    for (const SegmentRow& row : rows)
      doubles += !segments_.Insert(number, row);
  }
  if (doubles > 0) {
    recovery_.messages.push_back(absl::StrCat(
        doubles, " entries stood in two segments; one of each is served"));
  }
  recovery_.segments = segments_.all().size();
  recovery_.entries = segments_.live_entries();
  recovery_.live_bytes = segments_.live_bytes();
}

void RecordLog::StartThreads() {
  if (!options_.background) return;
  compaction_thread_ = std::jthread([this] { RunCompaction(); });
  if (options_.durability == Durability::kMemory) return;
  sync_thread_ = std::jthread([this] { commit_.Run(); });
}

RecordLog::~RecordLog() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    changed_.NotifyAll();
  }
  commit_.Stop();
  if (sync_thread_.joinable()) sync_thread_.join();
  if (compaction_thread_.joinable()) compaction_thread_.join();
  commit_.SyncOnce().IgnoreError();
}

absl::StatusOr<EntryId> RecordLog::Append(const NewEntry& entry) {
  const Appended appended = Append({&entry, 1});
  if (!appended.status.ok()) return appended.status;
  return appended.first;
}

RecordLog::Appended RecordLog::Append(std::span<const NewEntry> entries) {
  Appended appended;
  {
    MutexLock lock(append_mutex_);
    appended = AppendLocked(entries);
  }
  CallOut();
  return appended;
}

RecordLog::Appended RecordLog::AppendLocked(std::span<const NewEntry> entries) {
  Appended appended{.first = {next_id_}, .status = commit_.status()};
  if (!appended.status.ok()) return appended;

  absl::InlinedVector<NumberedEntry, 4> numbered;
  for (const NewEntry& entry : entries) {
    const uint64_t bytes = PayloadBytes(entry);
    if (bytes > options_.entry_bytes_max) {
      appended.status = absl::InvalidArgumentError(
          absl::StrCat("payload of an entry must have at most ",
                       options_.entry_bytes_max, " bytes, got ", bytes));
      break;
    }
    numbered.push_back({{next_id_ + numbered.size()}, entry});
  }
  std::span<const NumberedEntry> left(numbered);
  while (!left.empty()) {
    const absl::StatusOr<std::size_t> written = WriteRun(left);
    if (!written.ok()) {
      appended.status = written.status();
      break;
    }
    appended.count += *written;
    left = left.subspan(*written);
  }
  return appended;
}

absl::StatusOr<std::size_t> RecordLog::WriteRun(
    std::span<const NumberedEntry> entries) {
  Failpoint("append.before_write");
  if (!writer_.has_value() || writer_->RunLength(entries) == 0) {
    FLYWHEEL_RETURN_IF_ERROR(Rotate(entries.front().entry));
  }
  const std::size_t count = writer_->RunLength(entries);
  if (absl::Status status = writer_->Write(entries.first(count));
      !status.ok()) {
    if (!writer_->usable()) commit_.Fail(status);
    return status;
  }
  Failpoint("append.after_payload");
  AddToIndex(count);
  commit_.Wrote(writer_->file(), {next_id_ - 1});
  Failpoint("append.after_index");
  return count;
}

void RecordLog::AddToIndex(std::size_t num_new_rows) {
  const std::span<const SegmentRow> rows(writer_->rows());
  MutexLock lock(mutex_);
  for (const SegmentRow& row : rows.last(num_new_rows)) {
    segments_.Insert(writer_->header().number, row);
  }
  next_id_ += num_new_rows;
  last_id_ = next_id_ - 1;
}

absl::Status RecordLog::Rotate(const NewEntry& entry) {
  const uint64_t bytes =
      std::max(options_.segment_bytes,
               SegmentBytesFor(EntryBytesWithRow(PayloadBytes(entry)), 0));
  FLYWHEEL_RETURN_IF_ERROR(MakeRoom(bytes));
  const SegmentHeader header = NewHeader(bytes, next_id_);
  const std::string name = SegmentName(header.number);
  // Compaction gets the last free space, or it could never make more.
  absl::StatusOr<SegmentWriter> writer =
      SegmentWriter::Create(files_, name, header, options_.segment_bytes);
  if (!writer.ok()) return writer.status();
  commit_.ChangedFolder();
  Failpoint("rotate.after_create");
  // The new one first: without room the old one stays as it is, and takes
  // smaller entries still.
  if (absl::Status status = SealWriter(); !status.ok()) {
    files_.Remove(name).IgnoreError();
    return status;
  }
  writer_ = *std::move(writer);
  {
    MutexLock lock(mutex_);
    segments_.Add({.header = header,
                   .mapped = writer_->mapped(),
                   .disk_bytes = header.file_bytes});
  }
  Failpoint("rotate.after_switch");
  return absl::OkStatus();
}

absl::Status RecordLog::SealWriter() {
  if (!writer_.has_value()) return absl::OkStatus();
  FLYWHEEL_RETURN_IF_ERROR(writer_->Seal());
  Failpoint("rotate.after_footer");
  const SegmentHeader& header = writer_->header();
  const absl::StatusOr<uint64_t> disk_bytes = writer_->file()->DiskBytes();
  {
    MutexLock lock(mutex_);
    segments_.Seal(header.number, writer_->SealedRows(),
                   disk_bytes.value_or(header.file_bytes));
    changed_.NotifyAll();
  }
  commit_.Wrote(writer_->file(), {next_id_ - 1});
  // With kDisk no entry of the next segment may outlive one of this.
  if (options_.durability != Durability::kDisk) return absl::OkStatus();
  return commit_.SyncOnce();
}

absl::Status RecordLog::MakeRoom(uint64_t bytes) {
  while (true) {
    {
      MutexLock lock(mutex_);
      const bool too_much = segments_.disk_bytes() >
                            2 * segments_.live_bytes() + options_.segment_bytes;
      const bool over_limit = options_.disk_bytes_max != 0 &&
                              segments_.disk_bytes() + segments_.HeldBytes() +
                                      bytes + options_.segment_bytes >
                                  options_.disk_bytes_max;
      if (!too_much && !over_limit) return absl::OkStatus();
    }
    const absl::StatusOr<bool> compacted = CompactOnce();
    if (!compacted.ok()) Notice(std::string(compacted.status().message()));
    if (!compacted.value_or(false)) break;
  }
  // One segment is kept free for compaction.
  return CheckDiskLimit(bytes + options_.segment_bytes);
}

absl::Status RecordLog::CheckDiskLimit(uint64_t bytes) {
  if (options_.disk_bytes_max == 0) return absl::OkStatus();
  MutexLock lock(mutex_);
  const uint64_t used = segments_.disk_bytes() + segments_.HeldBytes();
  if (used + bytes <= options_.disk_bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the log in ", options_.folder,
                   " has reached disk_bytes_max: of ", options_.disk_bytes_max,
                   " bytes ", used, " are used, ", bytes, " more are needed"));
}

SegmentHeader RecordLog::NewHeader(uint64_t file_bytes, uint64_t first_id) {
  std::random_device random;
  MutexLock lock(mutex_);
  return {.number = next_number_++,
          .token = uint64_t{random()} << 32 | random(),
          .first_id = first_id,
          .file_bytes = file_bytes,
          .durability = options_.durability};
}

absl::Status RecordLog::WaitDurable(EntryId id) {
  if (!options_.background && options_.durability == Durability::kDisk) {
    FLYWHEEL_RETURN_IF_ERROR(Sync());
  }
  return commit_.WaitDurable(id);
}

absl::StatusOr<LogEntry> RecordLog::Read(EntryId id, Check check) const {
  EntryPlace place;
  uint64_t token = 0;
  std::shared_ptr<const MappedFile> mapped;
  {
    MutexLock lock(mutex_);
    const std::optional<SegmentSet::Found> found = segments_.Find(id);
    if (!found.has_value()) {
      return absl::NotFoundError(
          absl::StrCat("entry ", id.value, " is dead or never was"));
    }
    place = found->place;
    token = found->segment->header.token;
    mapped = found->segment->mapped;
  }
  const uint64_t offset = place.offset_units * kEntryAlignment;
  const uint64_t size = place.size_units * kEntryAlignment;
  FLYWHEEL_RETURN_IF_ERROR(mapped->Fetch(offset, size));
  const std::optional<StoredEntryHeader> header =
      EntryHeaderAt(mapped->bytes(), offset, token);
  if (!header.has_value() || header->id != id.value ||
      EntryBytes(header->payload_bytes) != size ||
      (check == Check::kPayload &&
       !PayloadIsIntact(mapped->bytes(), offset, *header))) {
    return absl::DataLossError(absl::StrCat("entry ", id.value, " at ", offset,
                                            " of ", SegmentPath(place.segment),
                                            " fails its checksum"));
  }
  return LogEntry{
      .info = RowOf(*header, offset).info(),
      .payload = mapped->bytes().subspan(offset + sizeof(StoredEntryHeader),
                                         header->payload_bytes),
      .owner = std::move(mapped)};
}

absl::StatusOr<LogPosition> RecordLog::Position(EntryId id) const {
  const absl::StatusOr<LogEntry> entry = Read(id, Check::kHeader);
  if (!entry.ok()) return entry.status();
  MutexLock lock(mutex_);
  const std::optional<SegmentSet::Found> found = segments_.Find(id);
  if (!found.has_value()) {
    return absl::NotFoundError(absl::StrCat("entry ", id.value, " is dead"));
  }
  return LogPosition{.segment = found->place.segment,
                     .token = found->segment->header.token,
                     .offset = found->place.offset_units * kEntryAlignment +
                               sizeof(StoredEntryHeader),
                     .bytes = entry->info.payload_bytes};
}

std::string RecordLog::SegmentPath(uint32_t segment) const {
  return absl::StrCat(options_.folder, "/", SegmentName(segment));
}

void RecordLog::MarkDead(std::span<const EntryId> ids) {
  MutexLock lock(mutex_);
  for (const EntryId id : ids) segments_.MarkDead(id);
  if (segments_.compaction_due()) changed_.NotifyAll();
}

void RecordLog::ForEach(const std::function<void(const EntryInfo&)>& visit) {
  struct Cursor {
    SegmentRows rows;
    std::size_t next = 0;
    const SegmentRow& row() const { return rows.rows()[next]; }
  };
  const auto later = [](const Cursor& a, const Cursor& b) {
    return a.row().id > b.row().id;
  };
  std::priority_queue<Cursor, std::vector<Cursor>, decltype(later)> cursors(
      later);
  {
    MutexLock append_lock(append_mutex_);
    MutexLock lock(mutex_);
    for (const auto& [number, segment] : segments_.all()) {
      Cursor cursor{segment.rows};
      if (!segment.sealed) cursor.rows = SegmentRows(writer_->rows());
      if (!cursor.rows.rows().empty()) cursors.push(std::move(cursor));
    }
  }
  uint64_t previous = 0;  // While entries move they stand in two segments.
  while (!cursors.empty()) {
    Cursor cursor = cursors.top();
    cursors.pop();
    const SegmentRow row = cursor.row();
    if (++cursor.next < cursor.rows.rows().size()) {
      cursors.push(std::move(cursor));
    }
    if (std::exchange(previous, row.id) == row.id) continue;
    bool live = false;
    {
      MutexLock lock(mutex_);
      live = segments_.Find({row.id}).has_value();
    }
    if (live) visit(row.info());
  }
}

absl::Status RecordLog::Sync() {
  const absl::Status status = commit_.SyncOnce();
  CallOut();
  return status;
}

RecordLogUse RecordLog::Use() {
  MutexLock lock(mutex_);
  return {.segments = segments_.all().size(),
          .live_entries = segments_.live_entries(),
          .live_bytes = segments_.live_bytes(),
          .disk_bytes = segments_.disk_bytes(),
          .held_bytes = segments_.HeldBytes(),
          .lost_entries = lost_entries_,
          .last = {last_id_},
          .durable = commit_.durable_through()};
}

void RecordLog::Notice(std::string message) {
  MutexLock lock(mutex_);
  if (options_.on_notice) notices_.push_back(std::move(message));
}

// Gives what was noticed while locks were held.
void RecordLog::CallOut() {
  commit_.Announce();
  if (!options_.on_notice) return;
  std::vector<std::string> notices;
  {
    MutexLock lock(mutex_);
    notices.swap(notices_);
  }
  for (const std::string& notice : notices) options_.on_notice(notice);
}

}  // namespace flywheel
