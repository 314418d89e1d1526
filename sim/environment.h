#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "sim/task_spec.h"

namespace flywheel {

// What one environment step led to.
struct TimeStep {
  double reward = 0;        // For the action that led here; raw.
  bool terminated = false;  // The task ended: no value after it.
  bool truncated = false;   // Stopped from outside, e.g. by the step limit.
  bool success = false;     // The task was achieved at this step.
  absl::Status status;      // Not OK: the simulation failed, and with it the
                            // episode. Nothing else holds then.

  bool last() const { return terminated || truncated; }
};

// One simulated episode at a time.
//
// Reset() begins an episode, Step() applies an action until a step is last().
// Nothing is rendered until Observe() asks: images cost far more than physics.
// The same seed and actions give the same bits on the same machine.
//
// Not thread-safe, and with a camera bound to the thread that first calls
// Observe(): rendering contexts belong to threads.
class Environment {
 public:
  virtual ~Environment() = default;

  virtual const TaskSpec& spec() const = 0;

  // Begins a new episode, entirely determined by `seed`.
  virtual void Reset(uint64_t seed) = 0;

  // Applies `action` [action_size], clipped to the spec's bounds. Must not be
  // called before Reset() or after a step that was last().
  virtual TimeStep Step(std::span<const float> action) = 0;

  // Writes the present observation, one span per spec().observations entry and
  // of exactly its size in bytes. Renders what has to be rendered.
  virtual void Observe(std::span<const std::span<std::byte>> columns) = 0;

  // What to do in this episode, e.g. "reach the red cube". Empty if the task
  // has no instruction. Valid until the next Reset().
  virtual const std::string& instruction() const = 0;

  // Writes the scripted expert's action for the present state [action_size].
  // Only for tasks whose spec().has_expert.
  virtual void ExpertAction(std::span<float> action) = 0;
};

}  // namespace flywheel
