#pragma once

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "mujoco/mujoco.h"

namespace flywheel {

// Calls into MuJoCo that fail with a Status.
//
// By itself MuJoCo writes its messages to MUJOCO_LOG.TXT in the working folder
// and ends the process at an error. Here warnings are silent (those of a
// simulation are counted in its mjData, see StepMujoco()), and an error leaves
// the guarded call; outside of one it aborts with MuJoCo's own words.
//
// Thread-safe: each thread guards itself.

// Makes the above so for the whole process. Done by the functions below and by
// whatever loads a model; cheap to repeat.
void TakeMujocoMessages();

// Runs `call`. Internal, with MuJoCo's own words, if MuJoCo raised an error in
// it. An error leaves `call` by longjmp: nothing in it may need a destructor.
absl::Status GuardMujoco(absl::FunctionRef<void()> call);

// Advances `data` by `count` physics steps. Internal if MuJoCo raised an error,
// or if since the last mj_resetData() a position, velocity, acceleration or
// control was not finite or too large: MuJoCo has then reset the simulation by
// itself, so the episode is over.
absl::Status StepMujoco(const mjModel& model, mjData& data, int count);

}  // namespace flywheel
