#pragma once

namespace flywheel {

// The environment variable by which a placement tells a service the process id
// of its parent, so that one whose parent died before it asked to die with it
// finds out.
inline constexpr char kLauncherPidVariable[] = "FLYWHEEL_LAUNCHER_PID";

}  // namespace flywheel
