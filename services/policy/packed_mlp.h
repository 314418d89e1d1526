#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/core/policy_snapshot.h"
#include "services/policy/mlp_kernel.h"

namespace flywheel {

// A perceptron for acting: its weights lie as ComputeMlpLayer() wants them.
// Not thread-safe.
class PackedMlp {
 public:
  // `sizes`: inputs, hidden layers, outputs. `activation` follows every layer
  // but the last.
  PackedMlp(std::vector<int64_t> sizes, Activation activation);

  // Copies the tensors NAME_0_weight [out, in], NAME_0_bias [out], NAME_1_...
  // Returns InvalidArgument naming the tensor if one does not fit; what was
  // loaded before is then lost.
  absl::Status Load(const PolicySnapshot& snapshot, const std::string& name);

  // Returns the outputs, valid until the next call: element j of row i is at
  // [i * output_stride() + j].
  std::span<const float> Forward(std::span<const float> inputs, int64_t rows);
  int64_t output_stride() const { return layers_.back().columns; }

 private:
  struct Layer {
    int64_t inputs;
    int64_t outputs;
    int64_t columns;            // outputs, rounded up.
    std::vector<float> weight;  // [inputs, columns]
    std::vector<float> bias;    // [columns]
    std::vector<float> y;       // [rows, columns]
  };

  Activation activation_;
  std::vector<Layer> layers_;
};

}  // namespace flywheel
