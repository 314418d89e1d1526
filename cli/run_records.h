#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "absl/status/status.h"
#include "cli/run_folder.h"
#include "services/core/job_status.h"

namespace flywheel {

// The summary.json in `folder`; null if there is none or it is no JSON.
nlohmann::json ReadSummary(const std::filesystem::path& summary);

// Writes summary.json and report.html of a run that ended, however it ended.
// `earlier` is the summary before it was resumed, or null.
absl::Status WriteRecords(const RunFolder& folder, const Job& job,
                          const nlohmann::json& earlier);

// Writes report.html again from the files beside it. NotFound without a
// summary.json.
absl::Status RewriteReport(const std::filesystem::path& run_folder);

}  // namespace flywheel
