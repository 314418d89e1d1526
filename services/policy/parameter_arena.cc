#include "services/policy/parameter_arena.h"

#include <cstring>
#include <span>
#include <string>

#include "services/policy/snapshot_tensors.h"

namespace flywheel {
namespace {

constexpr int64_t kAlignedFloats = 16;  // 64 bytes.

int64_t AlignUp(int64_t floats) {
  return (floats + kAlignedFloats - 1) / kAlignedFloats * kAlignedFloats;
}

}  // namespace

ParameterArena::ParameterArena(torch::nn::Module& module,
                               torch::Device device) {
  const torch::NoGradGuard no_grad;
  const auto named = module.named_parameters();
  int64_t total = 0;
  for (const auto& item : named) {
    tensors_.push_back(
        {.name = item.key(),
         .shape = item.value().sizes().vec(),
         .offset = static_cast<uint64_t>(total) * sizeof(float)});
    total += AlignUp(item.value().numel());
  }
  const auto options = torch::TensorOptions(torch::kFloat32).device(device);
  parameters_ = torch::zeros({total}, options);
  gradients_ = torch::zeros({total}, options);
  for (std::size_t i = 0; i < named.size(); ++i) {
    torch::Tensor parameter = named[i].value();
    const int64_t first =
        static_cast<int64_t>(tensors_[i].offset / sizeof(float));
    const torch::IntArrayRef shape = tensors_[i].shape;
    torch::Tensor view =
        parameters_.narrow(0, first, parameter.numel()).view(shape);
    torch::Tensor gradient =
        gradients_.narrow(0, first, parameter.numel()).view(shape);
    view.copy_(parameter);
    parameter.set_data(view);
    parameter.mutable_grad() = gradient;
  }
}

std::vector<std::byte> ParameterArena::Bytes() const {
  const torch::Tensor host = parameters_.cpu();
  const auto* first =
      reinterpret_cast<const std::byte*>(host.data_ptr<float>());
  return {first, first + host.nbytes()};
}

absl::Status ParameterArena::CopyFrom(const PolicySnapshot& snapshot) {
  const torch::Tensor staged =
      torch::zeros({size()}, torch::TensorOptions(torch::kFloat32));
  float* target = staged.data_ptr<float>();
  for (const SnapshotTensor& tensor : tensors_) {
    const absl::Status copied =
        CopyTensor(snapshot, tensor.name, tensor.shape,
                   target + tensor.offset / sizeof(float));
    if (!copied.ok()) return copied;
  }
  const torch::NoGradGuard no_grad;
  parameters_.copy_(staged);
  return absl::OkStatus();
}

}  // namespace flywheel
