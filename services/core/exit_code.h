#pragma once

namespace flywheel {

// How a service's process ends. Whoever started it decides by this number
// whether to start it again.
inline constexpr int kExitDone = 0;
inline constexpr int kExitFailed = 1;          // Try again.
inline constexpr int kExitConfiguration = 64;  // Trying again cannot help.
inline constexpr int kExitTryAgain = 75;       // Fenced, or a peer was away.

}  // namespace flywheel
