#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/wire/checkpoint_manifest.h"

namespace flywheel {

// Everything training continues from, as of one train step.
struct RecoveryPoint {
  CheckpointManifest manifest;
  std::vector<std::byte> state;
};

// What a killed process goes on from: two files in a folder, written in turn,
// so that one of them is whole at any instant once the first is written.
//
// A point costs a copy and a checksum and survives the process, kill -9
// included. It may not survive the machine, since nothing is synced: that is
// what checkpoints are for.
//
// Not thread-safe. One process writes.
class RecoveryPoints {
 public:
  // `folder` is created if need be; points that are there stay.
  static absl::StatusOr<RecoveryPoints> Open(const std::string& folder);

  // Unavailable: the disk refused; the point before this one is untouched.
  absl::Status Write(const CheckpointManifest& manifest,
                     std::span<const std::byte> state);

  // The newest whole one. `skipped` gets a sentence for each damaged one; what
  // a kill cut short is not damage. NotFound if there is none.
  absl::StatusOr<RecoveryPoint> ReadNewest(
      std::vector<std::string>& skipped) const;

  // Forgets all points.
  absl::Status Clear();

 private:
  explicit RecoveryPoints(std::string folder) : folder_(std::move(folder)) {}

  std::string PathOf(uint64_t sequence) const;

  std::string folder_;
  uint64_t sequence_ = 0;  // Of the newest point, counted from 1.
};

}  // namespace flywheel
