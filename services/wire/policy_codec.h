#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/core/policy_snapshot.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// A rollout asks for any version newer than `newer_than` (-1: any), or of
// another lineage than the one it has.
struct FetchPolicy {
  uint64_t worker = 0;
  int64_t newer_than = -1;
  uint64_t lineage = 0;
};

std::string FetchPolicyBytes(const FetchPolicy& fetch);
absl::StatusOr<FetchPolicy> FetchPolicyFromBytes(std::string_view bytes);

inline constexpr uint32_t kPolicyChunkBytes = 1 << 20;

// A snapshot as frames: the manifest, then chunks that share its memory.
std::vector<MessageFrame> PolicyFrames(const PolicySnapshotPtr& snapshot);

// Joins and verifies what PolicyFrames() made: sizes before memory is taken,
// every chunk's checksum, the whole's, and that tensors lie inside the bytes.
// Returns DataLoss or InvalidArgument naming what is wrong.
absl::StatusOr<PolicySnapshotPtr> PolicyFromFrames(
    std::span<const MessageFrame> frames);

}  // namespace flywheel
