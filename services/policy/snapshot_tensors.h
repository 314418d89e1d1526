#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// The snapshot's tensor of that name, or null.
const SnapshotTensor* FindTensor(const PolicySnapshot& snapshot,
                                 std::string_view name);

// Copies the tensor `name`, which must have `shape`, to `target`, which has
// room for it. Returns InvalidArgument naming the tensor, writing nothing, if
// it is missing, has another shape, or lies outside the snapshot's bytes.
absl::Status CopyTensor(const PolicySnapshot& snapshot, std::string_view name,
                        std::span<const int64_t> shape, float* target);

// Appends a tensor at the next multiple of 64 bytes.
void AppendTensor(const std::string& name, std::span<const int64_t> shape,
                  std::span<const std::byte> bytes, PolicySnapshot& snapshot);

}  // namespace flywheel
