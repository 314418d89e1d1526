#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/wire/checkpoint_manifest.h"
#include "services/wire/checkpoint_store.h"
#include "services/wire/recovery_points.h"

namespace flywheel {

// What a learner goes on from.
struct SavedState {
  std::string origin;  // For people: "checkpoint step-000000000012".
  CheckpointManifest manifest;
  std::vector<std::byte> state;
  std::string newest_checkpoint;  // Its name, if there is a valid one.
};

// Of the newest valid checkpoint and the newest whole recovery point, the one
// that got further. nullopt: there is none, training begins. `skipped` gets a
// sentence for each damaged one. NotFound if there are checkpoints and nothing
// is whole: beginning anew would pass over them.
absl::StatusOr<std::optional<SavedState>> NewestState(
    const CheckpointStore& checkpoints, const RecoveryPoints& recovery_points,
    std::vector<std::string>& skipped);

}  // namespace flywheel
