#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// The policy inside a learner's saved state (PpoLearner::SaveState), for those
// who only want to act: evaluations. `kind` is JobSpec.policy.kind; `checksum`
// of the bytes may be unset. Returns InvalidArgument if there is none.
absl::StatusOr<PolicySnapshotPtr> PolicyFromState(
    std::span<const std::byte> state, std::string_view kind,
    const std::function<uint32_t(std::span<const std::byte>)>& checksum = {});

}  // namespace flywheel
