#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/environment_pool.h"

namespace flywheel {

// The memory behind one environment's requests.
struct RequestBuffers {
  RequestBuffers(const TaskSpec& spec, int num_steps)
      : num_steps(num_steps),
        actions(static_cast<std::size_t>(num_steps) * spec.action_size),
        rewards(num_steps) {
    for (const ObservationSpec& observation : spec.observations) {
      columns.emplace_back(observation.bytes());
    }
  }

  std::vector<std::span<std::byte>> Spans() {
    return {columns.begin(), columns.end()};
  }

  // A request for `num_steps` steps and one observation.
  EnvironmentRequest StepRequest(int environment) {
    return {.environment = environment,
            .num_steps = num_steps,
            .actions = actions,
            .rewards = rewards,
            .observation = Spans()};
  }

  // The same after a reset.
  EnvironmentRequest ResetRequest(int environment, uint64_t seed) {
    EnvironmentRequest request = StepRequest(environment);
    request.reset = true;
    request.seed = seed;
    return request;
  }

  int num_steps;
  std::vector<float> actions;  // [num_steps, action_size]
  std::vector<float> rewards;  // [num_steps]
  std::vector<std::vector<std::byte>> columns;
};

}  // namespace flywheel
