#include "sim/task_registry.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sim/mujoco_half_cheetah.h"
#include "sim/mujoco_reach.h"

namespace flywheel {
namespace {

struct Task {
  TaskSpec spec;
  std::function<absl::StatusOr<std::unique_ptr<Environment>>()> make;
};

const std::vector<Task>& Tasks() {
  static const auto& tasks = *new std::vector<Task>{
      {HalfCheetah::Spec(), HalfCheetah::Make},
      {Reach::Spec(), Reach::Make},
  };
  return tasks;
}

// Levenshtein distance.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1,
                         diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

absl::StatusOr<const Task*> Find(std::string_view name) {
  const Task* likely = nullptr;
  std::size_t least = name.size() / 2 + 1;
  for (const Task& task : Tasks()) {
    if (task.spec.name == name) return &task;
    const std::size_t distance = EditDistance(task.spec.name, name);
    if (distance < least) {
      least = distance;
      likely = &task;
    }
  }
  const std::string text(name);
  return absl::InvalidArgumentError(
      likely == nullptr
          ? absl::StrCat("unknown task \"", text, "\": this build knows ",
                         absl::StrJoin(TaskNames(), ", "))
          : absl::StrCat("unknown task \"", text, "\": did you mean \"",
                         likely->spec.name, "\"?"));
}

}  // namespace

std::vector<std::string> TaskNames() {
  std::vector<std::string> names;
  for (const Task& task : Tasks()) names.push_back(task.spec.name);
  return names;
}

absl::StatusOr<std::unique_ptr<Environment>> MakeEnvironment(
    std::string_view task) {
  const absl::StatusOr<const Task*> found = Find(task);
  if (!found.ok()) return found.status();
  return (*found)->make();
}

absl::StatusOr<TaskSpec> SpecOf(std::string_view task) {
  const absl::StatusOr<const Task*> found = Find(task);
  if (!found.ok()) return found.status();
  return (*found)->spec;
}

}  // namespace flywheel
