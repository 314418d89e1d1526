#include "services/policy/packed_mlp.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/policy/snapshot_tensors.h"

namespace flywheel {

PackedMlp::PackedMlp(std::vector<int64_t> sizes, Activation activation)
    : activation_(activation) {
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
    const int64_t columns =
        (sizes[i + 1] + kMlpColumns - 1) / kMlpColumns * kMlpColumns;
    layers_.push_back({.inputs = sizes[i],
                       .outputs = sizes[i + 1],
                       .columns = columns,
                       .weight = std::vector<float>(sizes[i] * columns),
                       .bias = std::vector<float>(columns)});
  }
}

absl::Status PackedMlp::Load(const PolicySnapshot& snapshot,
                             const std::string& name) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const std::string prefix = absl::StrCat(name, "_", i);
    std::vector<float> weight(layer.outputs * layer.inputs);
    const int64_t shape[] = {layer.outputs, layer.inputs};
    FLYWHEEL_RETURN_IF_ERROR(
        CopyTensor(snapshot, prefix + "_weight", shape, weight.data()));
    FLYWHEEL_RETURN_IF_ERROR(CopyTensor(
        snapshot, prefix + "_bias", {&layer.outputs, 1}, layer.bias.data()));
    for (int64_t out = 0; out < layer.outputs; ++out) {
      for (int64_t in = 0; in < layer.inputs; ++in) {
        layer.weight[in * layer.columns + out] =
            weight[out * layer.inputs + in];
      }
    }
  }
  return absl::OkStatus();
}

std::span<const float> PackedMlp::Forward(std::span<const float> inputs,
                                          int64_t rows) {
  const float* x = inputs.data();
  int64_t x_stride = layers_.front().inputs;
  for (Layer& layer : layers_) {
    layer.y.resize(rows * layer.columns);
    const bool last = &layer == &layers_.back();
    ComputeMlpLayer({.x = x,
                     .x_stride = x_stride,
                     .rows = rows,
                     .inputs = layer.inputs,
                     .weight = layer.weight.data(),
                     .bias = layer.bias.data(),
                     .columns = layer.columns,
                     .activation = last ? Activation::kNone : activation_,
                     .y = layer.y.data()});
    x = layer.y.data();
    x_stride = layer.columns;
  }
  return layers_.back().y;
}

}  // namespace flywheel
