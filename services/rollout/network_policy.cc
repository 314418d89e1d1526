#include "services/rollout/network_policy.h"

#include <string_view>
#include <utility>

#include "services/policy/policy.h"
#include "services/policy/policy_shape.h"
#include "services/rollout/task_schema.h"

namespace flywheel {
namespace {

// Where an observation stands in the task's order; -1 if it has none of it.
int IndexOf(const TaskSpec& task, std::string_view name) {
  for (std::size_t i = 0; i < task.observations.size(); ++i) {
    if (task.observations[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

class NetworkPolicy final : public ActingPolicy {
 public:
  NetworkPolicy(const TaskSpec& task, std::unique_ptr<Policy> policy)
      : image_(IndexOf(task, "image")),
        state_(IndexOf(task, "state")),
        has_instruction_(task.has_instruction),
        policy_(std::move(policy)) {}

  absl::Status Load(const PolicySnapshot& snapshot) override {
    return policy_->Load(snapshot);
  }

  void Act(const ActingBatch& batch) override {
    ActingRows rows{.rows = static_cast<int64_t>(batch.value.size()),
                    .noise = batch.noise,
                    .actions = batch.actions,
                    .log_probability = batch.log_probability,
                    .value = batch.value};
    if (image_ >= 0) rows.image = batch.observations[image_];
    if (state_ >= 0) {
      const std::span<const std::byte> bytes = batch.observations[state_];
      rows.state = {reinterpret_cast<const float*>(bytes.data()),
                    bytes.size() / sizeof(float)};
    }
    if (has_instruction_) rows.instructions = batch.instructions;
    policy_->Act(rows);
  }

 private:
  const int image_;
  const int state_;
  const bool has_instruction_;
  const std::unique_ptr<Policy> policy_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ActingPolicy>> MakeNetworkPolicy(
    const TaskSpec& task, const PolicySpec& spec) {
  absl::StatusOr<PolicyShape> shape =
      PolicyShapeFromSchema(TaskSchema(task, spec));
  if (!shape.ok()) return shape.status();
  absl::StatusOr<std::unique_ptr<Policy>> policy = Policy::Create(spec, *shape);
  if (!policy.ok()) return policy.status();
  return std::make_unique<NetworkPolicy>(task, *std::move(policy));
}

}  // namespace flywheel
