#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/wire/checkpoint_manifest.h"

namespace flywheel {

struct Checkpoint {
  std::string name;  // Of its folder.
  CheckpointManifest manifest;
  std::vector<std::byte> state;  // state.safetensors
  std::string job;               // job.pb: the resolved JobSpec.
};

// Checkpoints of one run, a folder each: manifest.json, state.safetensors,
// job.pb. Nothing outside the folder is needed to go on from it, so it may be
// moved to another machine.
//
// Written beside, checksummed, synced, then renamed: a folder that has its name
// is whole. The newest `keep` stay, and those that are pinned.
//
// Not thread-safe; several processes may read.
class CheckpointStore {
 public:
  struct Options {
    std::string folder;  // Created if need be.
    int keep = 3;
  };

  static absl::StatusOr<CheckpointStore> Open(const Options& options);

  // Writes one and prunes the oldest. Returns its name. Unavailable: the disk
  // refused; older checkpoints are untouched.
  absl::StatusOr<std::string> Write(const CheckpointManifest& manifest,
                                    std::span<const std::byte> state,
                                    const std::string& job);

  // Keeps `name` from being pruned until Unpin().
  void Pin(const std::string& name);
  void Unpin(const std::string& name);

  // Names, oldest first, valid or not.
  std::vector<std::string> Names() const;

  // Reads and verifies one. NotFound; DataLoss naming the file and what is
  // wrong with it.
  absl::StatusOr<Checkpoint> Read(const std::string& name) const;

  // The newest valid one. `skipped` gets a sentence for each damaged one that
  // was passed over. NotFound if there is none.
  absl::StatusOr<Checkpoint> ReadNewest(
      std::vector<std::string>& skipped) const;

 private:
  explicit CheckpointStore(const Options& options) : options_(options) {}

  void Prune();

  Options options_;
  std::map<std::string, int> pins_;
};

}  // namespace flywheel
