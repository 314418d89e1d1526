#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "services/learner/advantages.h"

namespace flywheel {

// The trajectories of one train step, laid end to end: all chunks of the first
// one, then all of the second, and so on. Tensors are on the CPU and may be
// views of records (torch::from_blob); the learner copies what it keeps.
// Observations and rewards are raw.
struct TrainBatch {
  // One per chunk. Without a camera the images, and without a state vector the
  // states, are undefined.
  torch::Tensor image;   // uint8 [chunks, height, width, channels]
  torch::Tensor state;   // float32 [chunks, state_size]
  torch::Tensor action;  // float32 [chunks, action_chunk, action_size]
  std::vector<float> behavior_log_probability;  // Of the executed steps.
  std::vector<float> behavior_value;
  std::vector<int32_t> steps_executed;  // 1 to action_chunk.
  std::vector<int64_t> behavior_version;

  // One per environment step.
  std::vector<float> reward;

  // One per trajectory. Final observations of trajectories that terminated may
  // hold anything.
  std::vector<int64_t> num_chunks;  // At least 1 each.
  std::vector<TrajectoryEnd> end;
  std::vector<float> running_return;  // Discounted raw, before the first step.
  torch::Tensor final_image;  // uint8 [trajectories, height, width, channels]
  torch::Tensor final_state;  // float32 [trajectories, state_size]
  torch::Tensor instruction;  // int64 [trajectories, kInstructionTokens];
                              // undefined if the task has no words.
};

// Chunks of demonstrations, in any order.
struct ImitationBatch {
  torch::Tensor image;  // As in TrainBatch.
  torch::Tensor state;
  torch::Tensor action;       // What the expert chose.
  torch::Tensor instruction;  // int64 [chunks, kInstructionTokens]
  std::vector<int32_t> steps_executed;
  // Discounted raw return from the chunk's first step to the episode's end, as
  // a target for the value; empty: the value is not trained.
  std::vector<float> discounted_return;
};

}  // namespace flywheel
