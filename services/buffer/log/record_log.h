#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/buffer/log/compaction.h"
#include "services/buffer/log/folder_lock.h"
#include "services/buffer/log/group_commit.h"
#include "services/buffer/log/log_entry.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/log_recovery.h"
#include "services/buffer/log/recovery_report.h"
#include "services/buffer/log/segment_set.h"
#include "services/buffer/log/segment_writer.h"
#include "services/core/mutex.h"

namespace flywheel {

struct RecordLogOptions {
  std::string folder;  // Made if need be. One log writes to it at a time.
  Durability durability = Durability::kProcess;

  // A multiple of 4096. Whatever does not fit gets a segment of its own size.
  uint64_t segment_bytes = uint64_t{64} << 20;
  uint64_t entry_bytes_max = (uint64_t{1} << 30) + (1 << 20);  // Of a payload.

  // What all files may take, those included that readers hold after they were
  // removed; 0: no limit. At least three segments: one is kept for compaction.
  uint64_t disk_bytes_max = 0;

  absl::Duration sync_interval = absl::Seconds(1);  // Of kProcess.

  // Sync and compact in threads of the log's own. Without them the owner calls
  // Sync() and Compact(), and appending compacts where space demands it.
  bool background = true;

  // With the last durable id, from the thread that synced (kDisk).
  std::function<void(EntryId)> on_durable;
  // With a sentence about each thing an operator should know: an entry lost to
  // a damaged disk, compaction that found no room. From any thread.
  std::function<void(const std::string&)> on_notice;

  // Where the files are kept; null: in `folder`. Must outlive the log. Tests
  // lose the power here.
  LogFiles* files = nullptr;
};

struct RecordLogUse {
  uint64_t segments = 0;
  uint64_t live_entries = 0;
  uint64_t live_bytes = 0;    // Of live entries, with headers and padding.
  uint64_t disk_bytes = 0;    // Of the files in the folder.
  uint64_t held_bytes = 0;    // Of removed files that readers hold.
  uint64_t lost_entries = 0;  // Damaged, noticed since the log was opened.
  EntryId last;               // The newest entry's; 0: there never was one.
  EntryId durable;            // kDisk: all up to it are on the disk.
};

// An append-only log of entries in a folder of segment files: what is
// acknowledged after Append() is there after a crash, bit for bit and once.
//
// The log knows kinds, keys and bytes. Owners call an entry dead when they no
// longer need it; that is not durable: after a start every entry found is live,
// ForEach() lists them, and the owner says again which are not. Segments that
// are mostly dead are replaced by smaller ones; ids stay.
//
// The files take at most twice what the live entries do, plus two segments and
// a page for each segment file.
//
// A full disk fails the append and nothing else; a later one works when there
// is room again. An append that failed left no entry.
//
// Thread-safe. Appending and reading do not wait for each other. Destroying it
// syncs and ends its threads; entries that were read stay readable.
class RecordLog {
 public:
  // Reads what the folder holds: recovery() says what was found, repaired and
  // lost. FailedPrecondition naming the other process if the folder has a
  // writer; InvalidArgument naming the option.
  static absl::StatusOr<std::unique_ptr<RecordLog>> Open(
      RecordLogOptions options);

  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // Writes an entry behind all others; once this returns it survives the end of
  // the process. ResourceExhausted naming the limit or the disk's answer;
  // InvalidArgument if it is too large; after a failed sync that error, always.
  absl::StatusOr<EntryId> Append(const NewEntry& entry);

  struct Appended {
    EntryId first;  // Ids follow one another.
    std::size_t count = 0;
    absl::Status status;  // Of the entry behind them, if not all were written.
  };
  // Writes entries in order with few system calls, until one fails.
  Appended Append(std::span<const NewEntry> entries);

  // Waits until the entry withstands what the durability promises; at once
  // unless that is kDisk. Never OK after a failed sync. Without background
  // threads it syncs itself.
  absl::Status WaitDurable(EntryId id);

  enum class Check { kHeader, kPayload };
  // The entry, without a copy. NotFound: dead or never was. DataLoss: the disk
  // cannot read it or a checksum fails; the others are served as before.
  absl::StatusOr<LogEntry> Read(EntryId id,
                                Check check = Check::kPayload) const;

  absl::StatusOr<LogPosition> Position(EntryId id) const;
  std::string SegmentPath(uint32_t segment) const;

  // The owner no longer needs these. Unknown and dead ones are passed over.
  void MarkDead(std::span<const EntryId> ids);
  void MarkDead(EntryId id) { MarkDead({&id, 1}); }

  // Calls `visit` for every live entry, in the order of ids, from what segments
  // say of themselves: payloads are not read. Entries appended meanwhile may be
  // missing. `visit` may call the log.
  void ForEach(const std::function<void(const EntryInfo&)>& visit);

  // Syncs what was appended before the call.
  absl::Status Sync();

  // Replaces mostly dead segments once; false if there is nothing to replace.
  absl::StatusOr<bool> Compact();

  RecordLogUse Use();
  const RecoveryReport& recovery() const { return recovery_; }

 private:
  RecordLog(RecordLogOptions options, FolderLock lock,
            std::unique_ptr<LogFiles> own_files, EntryId durable);

  void TakeOver(RecoveredLog recovered);
  void StartThreads();

  Appended AppendLocked(std::span<const NewEntry> entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::StatusOr<std::size_t> WriteRun(std::span<const NumberedEntry> entries)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  void AddToIndex(std::size_t num_new_rows)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status Rotate(const NewEntry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status SealWriter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status MakeRoom(uint64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(append_mutex_);
  absl::Status CheckDiskLimit(uint64_t bytes);
  SegmentHeader NewHeader(uint64_t file_bytes, uint64_t first_id);

  absl::StatusOr<bool> CompactOnce();
  absl::Status Replace(std::span<const uint32_t> numbers)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(compact_mutex_);
  std::vector<MovingEntry> LiveEntriesOf(std::span<const uint32_t> numbers);
  void MoveEntries(const CompactedSegment& compacted,
                   std::span<const MovingEntry> entries);
  void RemoveSegments(std::span<const uint32_t> numbers);
  void RunCompaction();

  void Notice(std::string message);
  void CallOut();

  // Constant after construction.
  const RecordLogOptions options_;
  const FolderLock lock_;
  const std::unique_ptr<LogFiles> own_files_;
  LogFiles& files_;
  RecoveryReport recovery_;  // Constant after Open().

  GroupCommit commit_;

  // Held while an entry is written. Readers never wait for it.
  Mutex append_mutex_ ABSL_ACQUIRED_BEFORE(compact_mutex_);
  std::optional<SegmentWriter> writer_ ABSL_GUARDED_BY(append_mutex_);
  uint64_t next_id_ ABSL_GUARDED_BY(append_mutex_) = 1;

  // Held while segments are replaced.
  Mutex compact_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  SegmentSet segments_ ABSL_GUARDED_BY(mutex_);
  uint32_t next_number_ ABSL_GUARDED_BY(mutex_) = 1;
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lost_entries_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> notices_ ABSL_GUARDED_BY(mutex_);  // To be given.
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;

  std::jthread compaction_thread_;
  std::jthread sync_thread_;
};

}  // namespace flywheel
