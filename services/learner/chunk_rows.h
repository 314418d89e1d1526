#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "services/learner/ppo_loss.h"
#include "services/learner/train_batch.h"
#include "services/policy/observation_statistics.h"
#include "services/policy/policy_network.h"
#include "services/policy/policy_shape.h"

namespace flywheel {

// Everything the minibatches of a train step need, one row per chunk, on the
// learner's device.
struct ChunkRows {
  PolicyInputs inputs;
  PpoTargets targets;

  int64_t size() const { return targets.action.size(0); }

  // The rows that `index` (int64, on the same device) names.
  ChunkRows Select(const torch::Tensor& index) const;
};

// How raw observations become a network's inputs.
struct InputRules {
  PolicyShape shape;
  const ObservationNormalizer* normalizer = nullptr;  // Null: states stay raw.
  torch::Device device = torch::kCPU;
};

// Normalizes, fills in a missing instruction, and moves to the device.
// `instruction` has a row per row, or is undefined.
PolicyInputs MakeInputs(const torch::Tensor& image, const torch::Tensor& state,
                        const torch::Tensor& instruction, int64_t rows,
                        const InputRules& rules);

// Rows [first, first + count) of the inputs.
PolicyInputs NarrowInputs(const PolicyInputs& inputs, int64_t first,
                          int64_t count);

// The rows of a batch; advantages and value targets are still undefined.
ChunkRows MakeChunkRows(const TrainBatch& batch, const InputRules& rules);

// A copy on `device`.
template <typename T>
torch::Tensor ToDevice(const std::vector<T>& values, torch::ScalarType type,
                       torch::Device device) {
  return torch::tensor(torch::ArrayRef<T>(values), torch::TensorOptions(type))
      .to(device);
}

}  // namespace flywheel
