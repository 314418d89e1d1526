#pragma once

#include <cstdint>

namespace flywheel {

enum class Activation { kNone, kTanh, kRelu, kElu };

// Columns are computed in groups of so many.
inline constexpr int64_t kMlpColumns = 16;

// One dense layer: y = activation(x w + bias).
struct MlpLayer {
  const float* x = nullptr;  // [rows, x_stride], of which `inputs` are used.
  int64_t x_stride = 0;
  int64_t rows = 0;
  int64_t inputs = 0;
  const float* weight = nullptr;  // [inputs, columns]
  const float* bias = nullptr;    // [columns]
  int64_t columns = 0;            // A multiple of kMlpColumns.
  Activation activation = Activation::kNone;
  float* y = nullptr;  // [rows, columns]
};

// Computes the layer with the widest vectors this machine has. Every row is
// computed the same way wherever it stands, so equal rows give equal bits.
void ComputeMlpLayer(const MlpLayer& layer);

}  // namespace flywheel
