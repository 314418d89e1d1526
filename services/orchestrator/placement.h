#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/orchestrator/process_end.h"
#include "services/orchestrator/slot.h"

namespace flywheel {

// A process to start.
struct ProcessOrder {
  PlacedProcess process;
  std::string program;                   // "flywheel-learner"
  std::vector<std::string> arguments;    // Without the program's name.
  std::vector<std::string> environment;  // "NAME=value", beside what there is.
  std::string log_path;  // Standard output and error are appended to it.
};

// Where processes run: starts them, signals them, and tells how they ended.
//
// Thread-safe.
class Placement {
 public:
  using OnEnd = std::function<void(const PlacedProcess&, const ProcessEnd&)>;

  // Ends every process still there. No OnEnd is called after it.
  virtual ~Placement() = default;

  // Starts a process. NotFound: there is no such program. `on_end` is called
  // once it has ended, from a thread of the placement; it must not wait.
  virtual absl::Status Start(const ProcessOrder& order, OnEnd on_end) = 0;

  // Asks it to stop (SIGTERM), or ends it and its children (SIGKILL). Nothing
  // happens if it has ended.
  virtual void Stop(const PlacedProcess& process) = 0;
  virtual void Kill(const PlacedProcess& process) = 0;
};

}  // namespace flywheel
