#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/metrics_table.h"

namespace flywheel {

// The curves of report.html: how well the policy does and how fast the run
// went, then what the train steps did. HTML figures; empty where nothing was
// measured.
std::string OutcomeCharts(const nlohmann::json& summary,
                          const MetricsTable& metrics);
std::string TrainStepCharts(const MetricsTable& metrics);

}  // namespace flywheel
