#include "services/policy/policy_shape.h"

#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flywheel {
namespace {

absl::Status Unfit(const ColumnSchema& column, std::string_view needed) {
  return absl::InvalidArgumentError(
      absl::StrCat("a policy needs column ", column.name, " to be ",
                   absl::string_view(needed.data(), needed.size()), ", got ",
                   std::string(ElementName(column.element)), " [",
                   absl::StrJoin(column.shape, ", "), "]"));
}

absl::Status TakeObservation(const ColumnSchema& column, std::string_view name,
                             PolicyShape& shape) {
  if (name == "state") {
    if (column.element != ElementKind::kFloat32 || column.shape.size() != 1) {
      return Unfit(column, "float32 [n]");
    }
    shape.state_size = column.shape[0];
    return absl::OkStatus();
  }
  if (name == "image") {
    if (column.element != ElementKind::kUint8 || column.shape.size() != 3) {
      return Unfit(column, "uint8 [height, width, channels]");
    }
    shape.image = {column.shape[0], column.shape[1], column.shape[2]};
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("no policy can look at column ", column.name,
                   ": observations are \"state\" and \"image\""));
}

}  // namespace

absl::StatusOr<PolicyShape> PolicyShapeFromSchema(
    const TrajectorySchema& schema) {
  PolicyShape shape;
  for (const ColumnSchema& entry : schema.columns) {
    const std::string_view name = entry.name;
    if (!name.starts_with(column::kObservationPrefix)) continue;
    const absl::Status status = TakeObservation(
        entry, name.substr(column::kObservationPrefix.size()), shape);
    if (!status.ok()) return status;
  }
  if (shape.state_size == 0 && !shape.has_image()) {
    return absl::InvalidArgumentError(
        "a policy needs an observation/state or an observation/image column, "
        "the schema has neither");
  }
  const int action = schema.Find(column::kAction);
  if (action < 0) {
    return absl::InvalidArgumentError("the schema has no action column");
  }
  const ColumnSchema& actions = schema.columns[action];
  if (actions.element != ElementKind::kFloat32 || actions.shape.size() != 2) {
    return Unfit(actions, "float32 [action_chunk, action_size]");
  }
  shape.action_chunk = actions.shape[0];
  shape.action_size = actions.shape[1];
  shape.has_instruction = schema.Find(column::kInstruction) >= 0;
  return shape;
}

}  // namespace flywheel
