#pragma once

#include "sim/environment.h"
#include "sim/environment_pool.h"

namespace flywheel {

// Does what `request` asks of `environment`: the reset, the steps, the
// observation. The pool's whole work, in whatever thread it runs.
//
// The result's status names the environment and the step that failed: the
// simulation did, or its reward or an action (InvalidArgument) is not finite.
EnvironmentResult ExecuteRequest(Environment& environment,
                                 const EnvironmentRequest& request);

}  // namespace flywheel
