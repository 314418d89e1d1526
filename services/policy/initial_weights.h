#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string_view>

namespace flywheel {

// Draws the initial weights of one network: each tensor's numbers depend on the
// seed and the tensor's name alone. Computed in plain loops, so neither torch's
// generator nor its threads have a say.
class InitialWeights {
 public:
  explicit InitialWeights(uint64_t seed) : seed_(seed) {}

  // Normal numbers with mean 0.
  torch::Tensor Normal(std::string_view name, torch::IntArrayRef shape,
                       double std) const;

  // A matrix [rows, columns] whose shorter side is orthonormal, times `gain`
  // (Saxe et al. 2013).
  torch::Tensor Orthogonal(std::string_view name, int64_t rows, int64_t columns,
                           double gain) const;

 private:
  uint64_t seed_;
};

}  // namespace flywheel
