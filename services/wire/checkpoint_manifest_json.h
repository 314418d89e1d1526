#pragma once

#include "nlohmann/json.hpp"
#include "services/wire/checkpoint_manifest.h"

namespace flywheel {

nlohmann::json ManifestJson(const CheckpointManifest& manifest);

// Throws nlohmann::json::exception, naming the field that is missing or of
// another type.
CheckpointManifest ManifestFromJson(const nlohmann::json& object);

}  // namespace flywheel
