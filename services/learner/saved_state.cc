#include "services/learner/saved_state.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

// Whether `a` was written before training got as far as `b`.
bool IsBehind(const CheckpointManifest& a, const CheckpointManifest& b) {
  return std::pair(a.train_steps, a.seconds) <
         std::pair(b.train_steps, b.seconds);
}

}  // namespace

absl::StatusOr<std::optional<SavedState>> NewestState(
    const CheckpointStore& checkpoints, const RecoveryPoints& recovery_points,
    std::vector<std::string>& skipped) {
  absl::StatusOr<Checkpoint> checkpoint = checkpoints.ReadNewest(skipped);
  const bool all_damaged = !checkpoint.ok() && !skipped.empty();
  absl::StatusOr<RecoveryPoint> point = recovery_points.ReadNewest(skipped);
  const std::string name = checkpoint.ok() ? checkpoint->name : "";
  if (point.ok() &&
      (!checkpoint.ok() || !IsBehind(point->manifest, checkpoint->manifest))) {
    return SavedState{.origin = "the recovery point",
                      .manifest = std::move(point->manifest),
                      .state = std::move(point->state),
                      .newest_checkpoint = name};
  }
  if (checkpoint.ok()) {
    return SavedState{.origin = absl::StrCat("checkpoint ", name),
                      .manifest = std::move(checkpoint->manifest),
                      .state = std::move(checkpoint->state),
                      .newest_checkpoint = name};
  }
  if (all_damaged) return checkpoint.status();
  return std::nullopt;
}

}  // namespace flywheel
