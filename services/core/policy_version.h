#pragma once

#include <compare>
#include <cstdint>

namespace flywheel {

// Counts train steps the learner has published; 0 is the initial policy.
struct PolicyVersion {
  int64_t value = 0;
  auto operator<=>(const PolicyVersion&) const = default;
};

// Train steps between the policy that acted and the policy being trained.
inline int64_t PolicyLag(PolicyVersion behavior, PolicyVersion target) {
  return target.value - behavior.value;
}

}  // namespace flywheel
