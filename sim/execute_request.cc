#include "sim/execute_request.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

absl::Status CheckFinite(std::span<const float> action) {
  for (std::size_t i = 0; i < action.size(); ++i) {
    if (std::isfinite(action[i])) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("action[", i, "] must be finite, got ", action[i]));
  }
  return absl::OkStatus();
}

absl::Status CheckStep(const TimeStep& step) {
  if (!step.status.ok() || std::isfinite(step.reward)) return step.status;
  return absl::InternalError(
      absl::StrCat("the reward must be finite, got ", step.reward));
}

// Takes one environment step with `action` and adds it to `result`.
absl::Status StepOnce(Environment& environment, std::span<const float> action,
                      float& reward, EnvironmentResult& result) {
  absl::Status status = CheckFinite(action);
  if (!status.ok()) return status;
  const TimeStep step = environment.Step(action);
  status = CheckStep(step);
  if (!status.ok()) return status;
  reward = static_cast<float>(step.reward);
  ++result.steps_executed;
  result.success |= step.success;
  result.terminated = step.terminated;
  result.truncated = step.truncated;
  return status;
}

// The expert's `action` of step `step` with its noise.
std::vector<float> Disturbed(std::span<const float> action,
                             const EnvironmentRequest& request, int step) {
  std::vector<float> disturbed(action.begin(), action.end());
  if (request.expert_noise.empty()) return disturbed;
  const auto noise =
      request.expert_noise.subspan(step * action.size(), action.size());
  for (std::size_t i = 0; i < action.size(); ++i) disturbed[i] += noise[i];
  return disturbed;
}

absl::Status Named(const absl::Status& status, const TaskSpec& spec,
                   const EnvironmentResult& result) {
  return {status.code(),
          absl::StrCat(spec.name, ": environment ", result.environment,
                       ", step ", result.steps_executed,
                       " of the request: ", status.message())};
}

}  // namespace

EnvironmentResult ExecuteRequest(Environment& environment,
                                 const EnvironmentRequest& request) {
  EnvironmentResult result{.environment = request.environment};
  if (request.reset) environment.Reset(request.seed);
  result.instruction = environment.instruction();
  const auto action_size =
      static_cast<std::size_t>(environment.spec().action_size);
  for (int i = 0; i < request.num_steps; ++i) {
    const std::span<float> action =
        request.actions.subspan(i * action_size, action_size);
    absl::Status status;
    if (request.source == ActionSource::kExpert) {
      environment.ExpertAction(action);
      status = StepOnce(environment, Disturbed(action, request, i),
                        request.rewards[i], result);
    } else {
      status = StepOnce(environment, action, request.rewards[i], result);
    }
    if (!status.ok()) {
      result.status = Named(status, environment.spec(), result);
      return result;
    }
    if (result.terminated || result.truncated) break;
  }
  if (!request.observation.empty() &&
      (!result.terminated || request.observe_terminated)) {
    environment.Observe(request.observation);
  }
  return result;
}

}  // namespace flywheel
