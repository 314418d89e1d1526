#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "services/orchestrator/process_end.h"

namespace flywheel {

// A program to run as a child of this process.
struct ChildOptions {
  std::string program;                   // Its path.
  std::vector<std::string> arguments;    // Without the program's name.
  std::vector<std::string> environment;  // "NAME=value": added or replaced.
  std::string log_path;   // Standard output and error are appended to it.
  int inherited_fd = -1;  // Stays open in the child beside 0, 1, 2; -1: none.
};

struct Child {
  pid_t pid = 0;
  int pidfd = -1;  // Readable once it has ended; the owner closes it.
};

// Starts a child in a process group of its own, which gets SIGTERM when the
// calling THREAD ends (so call from one that lives as long as the children
// should), whose signals are as they are by default, and whose standard input
// is empty.
//
// NotFound: no such program, or it cannot be executed. Unavailable: no more
// processes, no room for the log.
absl::StatusOr<Child> StartChild(const ChildOptions& options);

// Waits for a child that has ended, or is about to, and says how. What is left
// of its process group is killed.
ProcessEnd ReapChild(const Child& child);

}  // namespace flywheel
