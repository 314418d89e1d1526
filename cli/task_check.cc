#include "cli/task_check.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sim/task_registry.h"

namespace flywheel {
namespace {

bool HasImage(const TaskSpec& task) {
  return std::any_of(task.observations.begin(), task.observations.end(),
                     [](const ObservationSpec& observation) {
                       return observation.type == ElementType::kUint8;
                     });
}

}  // namespace

absl::Status CheckTask(const JobSpec& job) {
  const absl::StatusOr<TaskSpec> task = SpecOf(job.task);
  if (!task.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("task: ", task.status().message()));
  }
  if (job.policy.kind == "tiny_vla" && !HasImage(*task)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "policy.kind must be one that needs no camera, since task ", job.task,
        " has none, got tiny_vla"));
  }
  if (job.pretraining.scripted && !task->has_expert) {
    return absl::InvalidArgumentError(
        absl::StrCat("pretraining.demonstrations must be none, since task ",
                     job.task, " has no scripted expert, got scripted"));
  }
  return absl::OkStatus();
}

}  // namespace flywheel
