#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// All parameters of a network in one piece of memory, and all gradients in
// another: parameters and gradients of the module become views of them. So the
// optimizer, gradient clipping, snapshots and checkpoints are each one pass.
//
// Offsets are multiples of 64 bytes; the gaps hold zeros and stay zero. Clear
// gradients with ZeroGradients(), never by setting one to none.
//
// Shares ownership of the tensors, not of the module. Not thread-safe.
class ParameterArena {
 public:
  // Moves the parameters of `module` to `device` and into an arena.
  explicit ParameterArena(torch::nn::Module& module,
                          torch::Device device = torch::kCPU);

  torch::Tensor parameters() const { return parameters_; }  // float32 [size]
  torch::Tensor gradients() const { return gradients_; }    // float32 [size]
  int64_t size() const { return parameters_.numel(); }

  // Names, shapes and offsets (in bytes), in the order they lie.
  const std::vector<SnapshotTensor>& tensors() const { return tensors_; }

  void ZeroGradients() { gradients_.zero_(); }

  // The parameters as bytes.
  std::vector<std::byte> Bytes() const;

  // Copies every parameter from the snapshot's tensor of that name. Returns
  // InvalidArgument naming the tensor, changing nothing, if one is missing, has
  // another shape, or lies outside the bytes.
  absl::Status CopyFrom(const PolicySnapshot& snapshot);

 private:
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  std::vector<SnapshotTensor> tensors_;
};

}  // namespace flywheel
