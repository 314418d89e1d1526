#include "services/learner/metrics_log.h"

#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace flywheel {
namespace {

// A line a former life wrote and this one will not write again.
bool Stays(const std::string& text, int64_t train_steps) {
  const nlohmann::json line =
      nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object()) return false;
  const auto step = line.find("train_step");
  return step == line.end() || !step->is_number() ||
         step->get<double>() <= static_cast<double>(train_steps);
}

}  // namespace

absl::StatusOr<MetricsLog> MetricsLog::Open(const std::string& path,
                                            int64_t train_steps) {
  const std::string partial = path + ".partial";
  {
    std::ifstream before(path);
    std::ofstream after(partial, std::ios::trunc);
    for (std::string text; std::getline(before, text);) {
      if (Stays(text, train_steps)) after << text << '\n';
    }
    if (!after) {
      return absl::UnavailableError(absl::StrCat("cannot write ", partial));
    }
  }
  std::error_code error;
  std::filesystem::rename(partial, path, error);
  std::ofstream file(path, std::ios::app);
  if (error || !file) {
    return absl::UnavailableError(absl::StrCat("cannot write ", path));
  }
  return MetricsLog(std::move(file));
}

void MetricsLog::Write(const std::string& phase, const Line& line) {
  nlohmann::ordered_json object;
  object["phase"] = phase;
  for (const auto& [name, value] : line) {
    const bool whole = std::floor(value) == value && std::abs(value) < 1e15;
    if (!std::isfinite(value)) {
      object[name] = nullptr;
    } else if (whole) {
      object[name] = static_cast<int64_t>(value);
    } else {
      object[name] = value;
    }
  }
  file_ << object.dump() + "\n" << std::flush;
}

}  // namespace flywheel
