#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/metrics_table.h"
#include "services/core/job_status.h"

namespace flywheel {

// summary.json: the figures of a run, for scripts and for the report. Names
// stay as they are once published; a figure that does not exist is null.
nlohmann::ordered_json Summary(const Job& job, const MetricsTable& metrics);

// Puts the evaluations of `earlier`, the summary of the same run before it was
// resumed, in front of those of `summary`; none of them is final any more.
void AddEarlierEvaluations(const nlohmann::json& earlier,
                           nlohmann::ordered_json& summary);

// How far behind the data were. Zeros if nothing was counted.
struct LagFigures {
  double mean = 0;
  int64_t p50 = 0;  // The least lag that half of the chunks do not exceed.
  int64_t p99 = 0;
  int64_t max = 0;
};
LagFigures LagOf(const std::map<int64_t, int64_t>& counts);

// Seconds by cause as shares of their sum; empty if that is 0.
std::map<std::string, double> Shares(
    const std::vector<std::map<std::string, double>>& seconds_by_cause);

// Trajectories dropped, by reason. Rollouts and the buffer may see the same
// drop from both ends, so the larger count of the two stands.
std::map<std::string, int64_t> Drops(const Job& job);

}  // namespace flywheel
