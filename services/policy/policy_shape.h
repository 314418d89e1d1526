#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "services/core/trajectory_schema.h"

namespace flywheel {

// What a policy sees and what it answers with, in sizes.
struct PolicyShape {
  int64_t state_size = 0;  // 0: no "state" observation.
  std::array<int64_t, 3> image = {0, 0,
                                  0};  // Height, width, channels; 0: none.
  int64_t action_chunk = 1;            // Environment steps per chunk.
  int64_t action_size = 0;
  bool has_instruction = false;

  bool has_image() const { return image[0] > 0; }
  int64_t image_bytes() const { return image[0] * image[1] * image[2]; }
  bool operator==(const PolicyShape&) const = default;
};

// The shape behind a job's records: "observation/state" float32 [n],
// "observation/image" uint8 [height, width, channels] and "action" float32
// [action_chunk, action_size]. Returns InvalidArgument naming the column if an
// observation is neither of these, or if something has the wrong form.
absl::StatusOr<PolicyShape> PolicyShapeFromSchema(
    const TrajectorySchema& schema);

}  // namespace flywheel
