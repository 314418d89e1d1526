#pragma once

#include <string>

#include "absl/strings/str_cat.h"

namespace flywheel {

// How a process ended.
struct ProcessEnd {
  int exit_code = 0;           // If no signal ended it.
  int signal = 0;              // 0: it exited.
  bool never_started = false;  // Its program could not be run at all.
  std::string last_log_line;   // Without date and level; may be empty.
};

// "exit code 1", "signal 9"
inline std::string Description(const ProcessEnd& end) {
  if (end.never_started) return "could not be started";
  return end.signal != 0 ? absl::StrCat("signal ", end.signal)
                         : absl::StrCat("exit code ", end.exit_code);
}

}  // namespace flywheel
