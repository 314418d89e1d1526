#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "flywheel/v1/trajectory_schema.pb.h"
#include "services/core/trajectory_schema.h"

namespace flywheel {

v1::TrajectorySchema TrajectorySchemaToProto(const TrajectorySchema& schema);

// InvalidArgument, beginning with `field`, if ValidateSchema() refuses it or an
// element kind or granularity is not one of ours.
absl::StatusOr<TrajectorySchema> TrajectorySchemaFromProto(
    std::string_view field, const v1::TrajectorySchema& message);

}  // namespace flywheel
