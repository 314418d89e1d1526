#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "cli/metrics_table.h"

namespace flywheel {

// report.html: the page people open to see how a run went. One file without
// script, fonts or pictures from elsewhere; light and dark; at most 300
// points per curve. Any text from the inputs is shown as text.
//
// `summary` is what summary.json holds; what it lacks is shown as a dash.
// `job_yaml` is the resolved job.
std::string ReportHtml(const nlohmann::json& summary,
                       const MetricsTable& metrics,
                       const std::string& job_yaml);

}  // namespace flywheel
