#include "cli/metrics_table.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace flywheel {
namespace {

// Phases a file may name: what is more is no file of ours.
constexpr std::size_t kPhasesMax = 16;

}  // namespace

void MetricsTable::Read(std::istream& file) {
  for (std::string text; std::getline(file, text);) {
    const nlohmann::json object =
        nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) continue;
    const auto phase = object.find("phase");
    if (phase == object.end() || !phase->is_string()) continue;
    std::map<std::string, double> line;
    for (const auto& [name, value] : object.items()) {
      if (value.is_number()) line[name] = value.get<double>();
    }
    Add(phase->get<std::string>(), std::move(line));
  }
}

void MetricsTable::Add(const std::string& phase_name,
                       std::map<std::string, double> line) {
  if (phases_.size() >= kPhasesMax && !phases_.contains(phase_name)) return;
  Phase& phase = phases_[phase_name];
  for (const auto& [name, value] : line) {
    const auto [entry, is_new] = phase.max.emplace(name, value);
    if (!is_new) entry->second = std::max(entry->second, value);
  }
  if (phase.read++ % phase.stride != 0) return;
  phase.lines.push_back(std::move(line));
  if (phase.lines.size() < lines_max_) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < phase.lines.size(); i += 2) {
    std::swap(phase.lines[kept++], phase.lines[i]);
  }
  phase.lines.resize(kept);
  phase.stride *= 2;
}

std::size_t MetricsTable::lines(std::string_view phase) const {
  const auto found = phases_.find(phase);
  return found == phases_.end() ? 0 : found->second.lines.size();
}

std::vector<CurvePoint> MetricsTable::Curve(std::string_view phase,
                                            const std::string& x,
                                            const std::string& y) const {
  std::vector<CurvePoint> curve;
  const auto found = phases_.find(phase);
  if (found == phases_.end()) return curve;
  for (const auto& line : found->second.lines) {
    const auto at = line.find(x);
    const auto value = line.find(y);
    if (at == line.end() || value == line.end()) continue;
    curve.push_back({at->second, value->second});
  }
  return curve;
}

double MetricsTable::Max(std::string_view phase,
                         const std::string& name) const {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  const auto found = phases_.find(phase);
  if (found == phases_.end()) return kNone;
  const auto entry = found->second.max.find(name);
  return entry == found->second.max.end() ? kNone : entry->second;
}

}  // namespace flywheel
