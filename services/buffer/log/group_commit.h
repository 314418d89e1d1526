#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/buffer/log/log_entry.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/segment_layout.h"
#include "services/core/mutex.h"

namespace flywheel {

// Brings what was written to the disk: one sync for all entries that were
// written meanwhile, so that many writers share it.
//
// After a sync that failed nothing is ever called durable again, since the
// system may have dropped what it could not write: every later call returns
// that error, and only a restart, which reads what is there, helps.
//
// Thread-safe.
class GroupCommit {
 public:
  struct Options {
    Durability durability = Durability::kProcess;
    absl::Duration interval = absl::Seconds(1);  // Of kProcess.
    // Called by Announce() with the last durable id. May be empty.
    std::function<void(EntryId)> on_durable;
  };

  // `files` must outlive it. Entries up to `durable` are durable already.
  GroupCommit(LogFiles& files, Options options, EntryId durable);

  // All entries up to `through` are written, the last of them to `file`.
  void Wrote(const std::shared_ptr<LogFile>& file, EntryId through);
  void ChangedFolder();

  // The file was removed: it need not be synced, and is not held open for it.
  void Forget(const std::string& name);

  // Syncs what was written before the call. Returns the lasting error, if any.
  // Does nothing under kMemory.
  absl::Status SyncOnce();

  // Waits until `id` is as durable as the durability promises: with kDisk until
  // it was synced, by Run() or another thread's SyncOnce(); else not at all.
  // Returns the lasting error if there is one.
  absl::Status WaitDurable(EntryId id);

  // Calls on_durable if more is durable than it was told. Hold no lock. Of two
  // threads' calls the later may bring the smaller id.
  void Announce();

  EntryId durable_through() const;
  absl::Status status() const;  // OK or the lasting error.
  void Fail(absl::Status error);

  // Syncs whenever there is something to sync (kDisk) or every interval
  // (kProcess) and announces it, until Stop(). A thread calls this.
  void Run();
  void Stop();

 private:
  bool IsClean() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForWork();
  absl::Status SyncFiles(const std::vector<std::shared_ptr<LogFile>>& files,
                         bool folder);

  // Constant after construction.
  LogFiles& files_;
  const Options options_;

  // One sync at a time. Held while the disk works, which is what it is for.
  Mutex sync_mutex_ ABSL_ACQUIRED_BEFORE(mutex_);

  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<std::shared_ptr<LogFile>> unsynced_ ABSL_GUARDED_BY(mutex_);
  bool folder_changed_ ABSL_GUARDED_BY(mutex_) = false;
  EntryId written_ ABSL_GUARDED_BY(mutex_);
  EntryId durable_ ABSL_GUARDED_BY(mutex_);
  EntryId announced_ ABSL_GUARDED_BY(mutex_);
  absl::Status error_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace flywheel
