#include "cli/run_records.h"

#include <cstddef>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "cli/file_text.h"
#include "cli/metrics_table.h"
#include "cli/report.h"
#include "cli/summary.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// What may stand in a summary.json and a job.yaml at most.
constexpr std::size_t kFileBytesMax = std::size_t{16} << 20;

MetricsTable ReadMetrics(const std::filesystem::path& path) {
  MetricsTable metrics;
  std::ifstream file(path);
  metrics.Read(file);
  return metrics;
}

absl::Status WriteReport(const std::filesystem::path& folder,
                         const nlohmann::json& summary,
                         const MetricsTable& metrics) {
  const absl::StatusOr<std::string> job =
      ReadFile(folder / "job.yaml", kFileBytesMax);
  return WriteFileAtomically(folder / "report.html",
                             ReportHtml(summary, metrics, job.value_or("")));
}

}  // namespace

nlohmann::json ReadSummary(const std::filesystem::path& summary) {
  const absl::StatusOr<std::string> text = ReadFile(summary, kFileBytesMax);
  if (!text.ok()) return nullptr;
  nlohmann::json json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_discarded() ? nlohmann::json() : json;
}

absl::Status WriteRecords(const RunFolder& folder, const Job& job,
                          const nlohmann::json& earlier) {
  const MetricsTable metrics = ReadMetrics(folder.metrics());
  nlohmann::ordered_json summary = Summary(job, metrics);
  AddEarlierEvaluations(earlier, summary);
  FLYWHEEL_RETURN_IF_ERROR(WriteFileAtomically(
      folder.summary(),
      summary.dump(2, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
          "\n"));
  return WriteReport(folder.path(), nlohmann::json(summary), metrics);
}

absl::Status RewriteReport(const std::filesystem::path& run_folder) {
  const nlohmann::json summary = ReadSummary(run_folder / "summary.json");
  if (!summary.is_object()) {
    return absl::NotFoundError(absl::StrCat(
        run_folder.string(),
        ": no summary.json that can be read, so no run that has ended"));
  }
  return WriteReport(run_folder, summary,
                     ReadMetrics(run_folder / "metrics.jsonl"));
}

}  // namespace flywheel
