#pragma once

#include <string>

namespace flywheel {

// Why something from the network is not taken.
struct Rejection {
  std::string reason;   // One of few words: "schema", "stale", ...
  std::string message;  // Names the field, the rule and the value.
};

}  // namespace flywheel
