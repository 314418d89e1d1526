#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "services/policy/policy_shape.h"

namespace flywheel {

// One call's observations and where its answers go.
struct ActingRows {
  int64_t rows = 0;
  std::span<const std::byte> image;  // uint8 [rows, height, width, channels];
                                     // empty without a camera.
  std::span<const float> state;      // [rows, state_size], raw; or empty.
  std::span<const std::string> instructions;  // [rows]; empty: no words.
  // Standard normal [rows, action_chunk, action_size]; empty: the mean acts.
  std::span<const float> noise;

  std::span<float> actions;  // [rows, action_chunk, action_size]
  // [rows, action_chunk]: of each step's action. A chunk's log-probability is
  // the sum over the steps that were executed.
  std::span<float> log_probability;
  std::span<float> value;  // [rows]
};

// Aborts with a sentence if a span does not have the size `shape` asks for:
// that is a bug of the caller.
void CheckActingRows(const ActingRows& rows, const PolicyShape& shape);

}  // namespace flywheel
