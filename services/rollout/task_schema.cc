#include "services/rollout/task_schema.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

ElementKind KindOf(ElementType type) {
  switch (type) {
    case ElementType::kUint8:
      return ElementKind::kUint8;
    case ElementType::kInt32:
      return ElementKind::kInt32;
    case ElementType::kFloat32:
      break;
  }
  return ElementKind::kFloat32;
}

void AddObservations(const TaskSpec& task, std::string_view prefix,
                     Granularity granularity, TrajectorySchema& schema) {
  for (const ObservationSpec& observation : task.observations) {
    schema.columns.push_back({.name = std::string(prefix) + observation.name,
                              .element = KindOf(observation.type),
                              .shape = observation.shape,
                              .granularity = granularity});
  }
}

}  // namespace

TrajectorySchema TaskSchema(const TaskSpec& task, const PolicySpec& policy) {
  TrajectorySchema schema;
  AddObservations(task, column::kObservationPrefix, Granularity::kChunk,
                  schema);
  AddObservations(task, column::kFinalObservationPrefix, Granularity::kFinal,
                  schema);
  const auto add = [&](std::string_view name, ElementKind element,
                       Granularity granularity, bool ragged = false) {
    schema.columns.push_back({.name = std::string(name),
                              .element = element,
                              .granularity = granularity,
                              .ragged = ragged});
  };
  add(column::kAction, ElementKind::kFloat32, Granularity::kChunk);
  schema.columns.back().shape = {policy.action_chunk, task.action_size};
  add(column::kLogProbability, ElementKind::kFloat32, Granularity::kChunk);
  add(column::kValue, ElementKind::kFloat32, Granularity::kChunk);
  add(column::kStepsExecuted, ElementKind::kInt32, Granularity::kChunk);
  add(column::kBehaviorVersion, ElementKind::kInt64, Granularity::kChunk);
  add(column::kReward, ElementKind::kFloat32, Granularity::kStep);
  add(column::kTerminated, ElementKind::kUint8, Granularity::kStep);
  add(column::kTruncated, ElementKind::kUint8, Granularity::kStep);
  if (task.has_instruction) {
    add(column::kInstruction, ElementKind::kUint8, Granularity::kTrajectory,
        true);
  }
  add(column::kTask, ElementKind::kUint8, Granularity::kTrajectory, true);
  add(column::kSeed, ElementKind::kInt64, Granularity::kTrajectory);
  add(column::kRunningReturn, ElementKind::kFloat32, Granularity::kTrajectory);
  add(column::kEpisodeReturn, ElementKind::kFloat32, Granularity::kTrajectory);
  add(column::kEpisodeSteps, ElementKind::kInt64, Granularity::kTrajectory);
  if (task.has_success) {
    add(column::kEpisodeSuccess, ElementKind::kUint8, Granularity::kTrajectory);
  }
  return schema;
}

}  // namespace flywheel
