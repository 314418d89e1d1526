#include "services/orchestrator/evaluation_file.h"

#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"

namespace flywheel {
namespace {

using nlohmann::json;

double NumberOrNan(const json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN()
                         : value.get<double>();
}

}  // namespace

absl::StatusOr<Evaluation> ReadEvaluationFile(const std::string& path) try {
  std::ifstream file(path);
  if (!file) return absl::DataLossError(absl::StrCat("cannot read ", path));
  const json object = json::parse(file);
  return Evaluation{
      .policy_version = object.at("policy_version").get<int64_t>(),
      .environment_steps = object.at("environment_steps").get<int64_t>(),
      .episodes = object.at("episodes").get<int64_t>(),
      .episode_return_mean = NumberOrNan(object.at("episode_return_mean")),
      .episode_return_std = NumberOrNan(object.at("episode_return_std")),
      .success_rate = NumberOrNan(object.at("success_rate")),
      .seconds_trained = object.at("seconds_trained").get<double>()};
} catch (const json::exception& error) {
  return absl::DataLossError(absl::StrCat(path, ": ", error.what()));
}

}  // namespace flywheel
