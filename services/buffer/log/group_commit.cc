#include "services/buffer/log/group_commit.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/buffer/log/failpoints.h"
#include "services/core/status_macros.h"

namespace flywheel {

GroupCommit::GroupCommit(LogFiles& files, Options options, EntryId durable)
    : files_(files),
      options_(std::move(options)),
      written_(durable),
      durable_(durable),
      announced_(durable) {}

void GroupCommit::Wrote(const std::shared_ptr<LogFile>& file, EntryId through) {
  if (options_.durability == Durability::kMemory) return;
  MutexLock lock(mutex_);
  written_ = std::max(written_, through);
  if (std::find(unsynced_.rbegin(), unsynced_.rend(), file) ==
      unsynced_.rend()) {
    unsynced_.push_back(file);
  }
  if (options_.durability == Durability::kDisk) changed_.NotifyAll();
}

void GroupCommit::ChangedFolder() {
  if (options_.durability == Durability::kMemory) return;
  MutexLock lock(mutex_);
  folder_changed_ = true;
}

void GroupCommit::Forget(const std::string& name) {
  MutexLock lock(mutex_);
  std::erase_if(unsynced_,
                [&](const auto& file) { return file->name() == name; });
}

absl::Status GroupCommit::SyncOnce() {
  MutexLock sync_lock(sync_mutex_);
  std::vector<std::shared_ptr<LogFile>> files;
  bool folder = false;
  EntryId through;
  {
    MutexLock lock(mutex_);
    if (!error_.ok() || IsClean()) return error_;
    files = std::exchange(unsynced_, {});
    folder = std::exchange(folder_changed_, false);
    through = written_;
  }
  if (absl::Status status = SyncFiles(files, folder); !status.ok()) {
    Fail(std::move(status));
    return this->status();
  }
  MutexLock lock(mutex_);
  durable_ = std::max(durable_, through);
  changed_.NotifyAll();
  return absl::OkStatus();
}

void GroupCommit::Announce() {
  if (!options_.on_durable) return;
  EntryId durable;
  {
    MutexLock lock(mutex_);
    if (announced_ >= durable_) return;
    durable = announced_ = durable_;
  }
  options_.on_durable(durable);
}

absl::Status GroupCommit::SyncFiles(
    const std::vector<std::shared_ptr<LogFile>>& files, bool folder) {
  Failpoint("sync.before");
  for (const std::shared_ptr<LogFile>& file : files) {
    FLYWHEEL_RETURN_IF_ERROR(file->Sync());
  }
  Failpoint("sync.after_files");
  if (folder) FLYWHEEL_RETURN_IF_ERROR(files_.SyncFolder());
  Failpoint("sync.after");
  return absl::OkStatus();
}

absl::Status GroupCommit::WaitDurable(EntryId id) {
  MutexLock lock(mutex_);
  if (options_.durability != Durability::kDisk) return error_;
  while (error_.ok() && durable_ < id && !stopped_) changed_.Wait(mutex_);
  if (durable_ >= id) return absl::OkStatus();
  if (!error_.ok()) return error_;
  return absl::CancelledError(
      absl::StrCat("the log closed before entry ", id.value, " was durable"));
}

EntryId GroupCommit::durable_through() const {
  MutexLock lock(mutex_);
  return durable_;
}

absl::Status GroupCommit::status() const {
  MutexLock lock(mutex_);
  return error_;
}

void GroupCommit::Fail(absl::Status error) {
  MutexLock lock(mutex_);
  if (error_.ok()) {
    error_ = absl::Status(
        error.code(),
        absl::StrCat("the log takes no more entries, and none after entry ",
                     durable_.value,
                     " is surely on the disk: ", std::string(error.message())));
  }
  changed_.NotifyAll();
}

bool GroupCommit::IsClean() const {
  return unsynced_.empty() && !folder_changed_;
}

void GroupCommit::Run() {
  while (true) {
    WaitForWork();
    {
      MutexLock lock(mutex_);
      if (stopped_ || !error_.ok()) return;
    }
    SyncOnce().IgnoreError();  // It lasts, and every caller gets it.
    Announce();
  }
}

void GroupCommit::WaitForWork() {
  MutexLock lock(mutex_);
  if (options_.durability == Durability::kDisk) {
    while (!stopped_ && error_.ok() && IsClean()) changed_.Wait(mutex_);
    return;
  }
  const absl::Time next = absl::Now() + options_.interval;
  for (absl::Time now = absl::Now(); now < next && !stopped_ && error_.ok();
       now = absl::Now()) {
    changed_.WaitFor(mutex_, next - now);
  }
}

void GroupCommit::Stop() {
  MutexLock lock(mutex_);
  stopped_ = true;
  changed_.NotifyAll();
}

}  // namespace flywheel
