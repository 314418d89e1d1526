#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace flywheel {

// What one item of an observation column holds.
enum class ElementType { kUint8, kInt32, kFloat32 };

// Bytes of one element.
constexpr std::size_t ElementBytes(ElementType type) {
  return type == ElementType::kUint8 ? 1 : 4;
}

// One named part of what the policy sees, e.g. "image" uint8 [64, 64, 3] (rows
// top-down, RGB) or "state" float32 [17].
struct ObservationSpec {
  std::string name;
  ElementType type = ElementType::kFloat32;
  std::vector<int64_t> shape;  // Of one observation.

  std::size_t bytes() const {
    std::size_t count = ElementBytes(type);
    for (const int64_t size : shape) count *= static_cast<std::size_t>(size);
    return count;
  }
};

// What a task shows and takes. Constant for the life of an environment.
struct TaskSpec {
  std::string name;  // "gymnasium:HalfCheetah-v5", "tabletop/reach".
  std::vector<ObservationSpec> observations;
  int action_size = 0;  // Each element is clipped to [low, high] by Step().
  float action_low = -1.0f;
  float action_high = 1.0f;
  int max_episode_steps = 0;     // Truncated there.
  bool has_instruction = false;  // Words that say what to do, new each episode.
  bool has_success = false;      // Else success is never reported.
  bool has_expert = false;       // ExpertAction() works.
};

}  // namespace flywheel
