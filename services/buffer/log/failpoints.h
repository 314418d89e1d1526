#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace flywheel {

// Named places in the code at which a test may act: most of all end the process
// there, as kill -9 would. They are compiled in always; while none is armed
// each costs one relaxed load.
//
// The registry is one per process, against the rule of no globals: a failpoint
// stands deep inside code that must not be handed a test's tool.
//
// Thread-safe. An action runs in the thread that reached the place.

// Every failpoint of the record log, in the order of a life.
inline constexpr std::string_view kLogFailpoints[] = {
    "recover.after_scan",    "recover.before_cut",
    "recover.after_cut",     "recover.after_retire",
    "append.before_write",   "append.after_header",
    "append.within_payload", "append.after_payload",
    "append.after_index",    "rotate.after_create",
    "rotate.after_rows",     "rotate.after_footer",
    "rotate.after_switch",   "sync.before",
    "sync.after_files",      "sync.after",
    "compact.after_create",  "compact.after_copy",
    "compact.after_footer",  "compact.after_rename",
    "compact.after_folder",  "compact.after_move",
    "compact.after_retire",
};

// Runs `action` when `name` is reached for the `hit`-th time from now, once.
void ArmFailpoint(std::string_view name, int hit, std::function<void()> action);
void DisarmFailpoints();

// Ends this process as kill -9 does.
[[noreturn]] void KillThisProcess();

// Arms what `text` says: "append.after_header=kill:3,rotate.after_footer=exit"
// (kill or exit, at the first hit unless a number says which). InvalidArgument
// if it cannot be read; nothing is armed then.
absl::Status ArmFailpoints(std::string_view text);

// ArmFailpoints(FLYWHEEL_FAILPOINTS), the first time it is called.
absl::Status ArmFailpointsFromEnvironment();

namespace failpoints_internal {
inline std::atomic<bool> armed{false};
void Reach(std::string_view name);
}  // namespace failpoints_internal

inline bool AnyFailpointArmed() {
  return failpoints_internal::armed.load(std::memory_order_relaxed);
}

inline void Failpoint(std::string_view name) {
  if (AnyFailpointArmed()) failpoints_internal::Reach(name);
}

}  // namespace flywheel
