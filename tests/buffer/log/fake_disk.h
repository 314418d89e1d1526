#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "services/buffer/log/log_files.h"
#include "services/core/mutex.h"

namespace flywheel {

// A folder in memory that knows what a real disk would have of it: a file's
// pages once the file was synced, names once the folder was. Everything else a
// loss of power may keep or drop, page by page and name by name.
//
// Also refuses to write, sync or find room when told to. Thread-safe.
class FakeDisk final : public LogFiles {
 public:
  FakeDisk();
  ~FakeDisk() override;

  absl::StatusOr<std::unique_ptr<LogFile>> Create(
      const std::string& name, uint64_t bytes, uint64_t spare_bytes) override;
  absl::StatusOr<std::unique_ptr<LogFile>> Open(
      const std::string& name) override;
  absl::StatusOr<std::vector<std::string>> List() override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& name) override;
  absl::Status SyncFolder() override;

  // What is found after the power failed now: all that was synced; of the rest
  // a random part, each page in the state after any of its writes.
  std::unique_ptr<FakeDisk> AfterPowerLoss(std::mt19937_64& random);

  // The same files, as a process finds them that was killed and started again.
  std::unique_ptr<FakeDisk> Copy();

  std::vector<std::byte> Bytes(const std::string& name);
  void SetBytes(const std::string& name, const std::vector<std::byte>& bytes);

  // Room for files that Create() makes; nothing: no limit.
  void SetRoom(std::optional<uint64_t> bytes);
  // The next write stops after `bytes` bytes of it with an error.
  void FailNextWriteAfter(uint64_t bytes);
  void FailSyncs(bool fail);

  int num_syncs();

 private:
  struct Node;
  class File;
  struct FolderChange {
    std::string removed;  // May be empty.
    std::string added;    // May be empty.
    std::shared_ptr<Node> node;
  };
  using Names = std::map<std::string, std::shared_ptr<Node>>;

  static void Apply(const FolderChange& change, Names& names);
  void Change(FolderChange change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  Names names_ ABSL_GUARDED_BY(mutex_);
  Names synced_names_ ABSL_GUARDED_BY(mutex_);
  std::vector<FolderChange> unsynced_changes_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> room_ ABSL_GUARDED_BY(mutex_);
  std::optional<uint64_t> failing_write_ ABSL_GUARDED_BY(mutex_);
  bool fail_syncs_ ABSL_GUARDED_BY(mutex_) = false;
  int num_syncs_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flywheel
