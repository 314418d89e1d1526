#pragma once

#include <string>

namespace flywheel {

// The process's log, for code that cannot include spdlog because torch brings
// another fmt. Thread-safe.
void LogInfo(const std::string& sentence);
void LogWarning(const std::string& sentence);
void LogError(const std::string& sentence);

}  // namespace flywheel
