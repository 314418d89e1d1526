#include "services/wire/service_log.h"

#include "spdlog/spdlog.h"

namespace flywheel {

void LogInfo(const std::string& sentence) { spdlog::info("{}", sentence); }
void LogWarning(const std::string& sentence) { spdlog::warn("{}", sentence); }
void LogError(const std::string& sentence) { spdlog::error("{}", sentence); }

}  // namespace flywheel
