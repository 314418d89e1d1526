#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "services/core/job_status.h"

namespace flywheel {

// A place in a job that a process fills, one life after another.
struct Slot {
  Role role = Role::kRollout;
  int index = 0;  // Among its role's, from 0.
  auto operator<=>(const Slot&) const = default;
};

// "learner-0"
inline std::string SlotName(const Slot& slot) {
  return absl::StrCat(std::string(RoleName(slot.role)), "-", slot.index);
}

// One life of one slot of one job.
struct PlacedProcess {
  std::string job_id;
  Slot slot;
  int64_t incarnation = 0;
  auto operator<=>(const PlacedProcess&) const = default;
};

}  // namespace flywheel
