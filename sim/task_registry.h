#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/environment.h"

namespace flywheel {

// Every task this build knows, e.g. "gymnasium:HalfCheetah-v5".
std::vector<std::string> TaskNames();

// Makes one environment of `task`. Models are loaded once per process and
// shared. Returns InvalidArgument for an unknown task, naming the likely one.
absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(
    std::string_view task);

// The spec alone. Fails as MakeEnvironment() does.
absl::StatusOr<TaskSpec> SpecOf(std::string_view task);

}  // namespace flywheel
