#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/run_folder.h"
#include "services/core/job_spec.h"

namespace flywheel {

// What a person reads when a run is over: figures, where the report is, what
// to do next. `summary` is what summary.json holds, `budget` the job's,
// `command` what they type to call us ("./flywheel").
std::string ClosingText(const nlohmann::json& summary, const BudgetSpec& budget,
                        const RunFolder& folder, const std::string& command);

// The launcher as one would type it in the present folder, where the launcher
// started us; else "flywheel".
std::string CommandName();

}  // namespace flywheel
