#include "services/learner/learner_device.h"

#include "absl/strings/str_cat.h"

namespace flywheel {

absl::StatusOr<torch::Device> DeviceNamed(const std::string& name) {
  if (name == "cpu") return torch::Device(torch::kCPU);
  if (name != "auto" && name != "cuda") {
    return absl::InvalidArgumentError(
        absl::StrCat("resources.device must be auto, cpu or cuda, got ", name));
  }
  if (torch::cuda::is_available()) return torch::Device(torch::kCUDA);
  if (name == "auto") return torch::Device(torch::kCPU);
  return absl::FailedPreconditionError(
      "resources.device is cuda, but torch finds no CUDA device");
}

}  // namespace flywheel
