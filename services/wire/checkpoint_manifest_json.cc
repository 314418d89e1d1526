#include "services/wire/checkpoint_manifest_json.h"

#include <cstdint>
#include <map>
#include <string>

namespace flywheel {

nlohmann::json ManifestJson(const CheckpointManifest& manifest) {
  return {{"policy_version", manifest.policy_version},
          {"train_steps", manifest.train_steps},
          {"environment_steps", manifest.environment_steps},
          {"episodes", manifest.episodes},
          {"seconds", manifest.seconds},
          {"phase", manifest.phase},
          {"task", manifest.task},
          {"numbers", manifest.numbers}};
}

CheckpointManifest ManifestFromJson(const nlohmann::json& object) {
  return {.policy_version = object.at("policy_version").get<int64_t>(),
          .train_steps = object.at("train_steps").get<int64_t>(),
          .environment_steps = object.at("environment_steps").get<int64_t>(),
          .episodes = object.at("episodes").get<int64_t>(),
          .seconds = object.at("seconds").get<double>(),
          .phase = object.at("phase").get<std::string>(),
          .task = object.at("task").get<std::string>(),
          .numbers = object.at("numbers").get<std::map<std::string, double>>()};
}

}  // namespace flywheel
