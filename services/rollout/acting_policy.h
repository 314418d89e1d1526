#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// One call's observations and where its answers go. Rows that nobody asked for
// may hold anything; their answers are ignored.
struct ActingBatch {
  // One per observation of the task, in its order: [rows, bytes of one].
  std::vector<std::span<const std::byte>> observations;
  std::span<const std::string> instructions;  // [rows]
  std::span<const float> noise;  // [rows, action_chunk, action_size], standard
                                 // normal; empty: act with the mean.
  std::span<float> actions;      // [rows, action_chunk, action_size]
  std::span<float> log_probability;  // [rows, action_chunk], of each step.
  std::span<float> value;            // [rows]
};

// What acts: the seam between collecting experience and the network.
//
// Not thread-safe.
class ActingPolicy {
 public:
  virtual ~ActingPolicy() = default;

  // Acts with `snapshot` from now on. InvalidArgument, changing nothing, if it
  // does not fit the task.
  virtual absl::Status Load(const PolicySnapshot& snapshot) = 0;

  // Chooses one action chunk per row. The same rows in the same places give the
  // same bits in every process.
  virtual void Act(const ActingBatch& batch) = 0;
};

}  // namespace flywheel
