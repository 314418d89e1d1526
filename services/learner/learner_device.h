#pragma once

#include <torch/torch.h>

#include <string>

#include "absl/status/statusor.h"

namespace flywheel {

// The device of resources.device: "cpu", "cuda", or for "auto" whichever is
// there. Returns InvalidArgument for other names, FailedPrecondition if "cuda"
// is asked for and there is none.
absl::StatusOr<torch::Device> DeviceNamed(const std::string& name);

}  // namespace flywheel
