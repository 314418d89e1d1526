#pragma once

#include <map>
#include <string>

namespace flywheel {

// What this program is and was built with, for summary.json and for people:
// "flywheel" → "0.1.0", "compiler" → "gcc 12.2.0", "build" → "Release".
std::map<std::string, std::string> Versions();

}  // namespace flywheel
