#pragma once

#include <cstdint>

#include "services/core/policy_version.h"

namespace flywheel {

// What a credit is for.
enum class CreditKind {
  kTraining,       // unroll_length chunks; the policy acts.
  kDemonstration,  // One whole episode; the scripted expert acts.
};

// The buffer's leave for one more piece of experience of one environment.
struct Credit {
  uint64_t id = 0;           // Unique within a life of the buffer; never 0.
  uint64_t environment = 0;  // Job-wide index.
  CreditKind kind = CreditKind::kTraining;
  PolicyVersion version;  // The rollout acts with this one or a newer one.
  int64_t deadline = 0;   // The last train step that may use it.
  bool operator==(const Credit&) const = default;
};

}  // namespace flywheel
