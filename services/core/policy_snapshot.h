#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "services/core/policy_version.h"

namespace flywheel {

// A float32 tensor inside a snapshot's bytes.
struct SnapshotTensor {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t offset = 0;  // Bytes into PolicySnapshot::bytes; a multiple of 64.
  bool operator==(const SnapshotTensor&) const = default;
};

// Immutable weights with their version, observation statistics included.
struct PolicySnapshot {
  uint64_t lineage = 0;
  PolicyVersion version;
  int64_t parent = -1;  // The version it was trained from; -1: none.
  std::string kind;     // JobSpec.policy.kind.
  std::vector<SnapshotTensor> tensors;
  std::vector<std::byte> bytes;
  uint32_t crc32c = 0;  // Of `bytes`.
};

using PolicySnapshotPtr = std::shared_ptr<const PolicySnapshot>;

}  // namespace flywheel
