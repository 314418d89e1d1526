#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <semaphore>
#include <string>
#include <thread>

#include "sim/environment.h"

namespace flywheel {

// Counts: the observation is the number of steps since the reset, as float32,
// and an episode is truncated after 5 steps.
class FakeEnvironment : public Environment {
 public:
  static TaskSpec Spec() {
    return {.name = "fake",
            .observations = {{.name = "state", .shape = {1}}},
            .action_size = 2,
            .max_episode_steps = 5,
            .has_expert = true};
  }

  const TaskSpec& spec() const override { return spec_; }
  void Reset(uint64_t seed) override {
    seed_ = seed;
    steps_ = 0;
    instruction_ = "count to " + std::to_string(seed);
  }
  // The reward is the sum of the action.
  TimeStep Step(std::span<const float> action) override {
    thread = std::this_thread::get_id();
    if (gate != nullptr) gate->acquire();
    ++steps_;
    if (steps_ == fails_at_step) {
      return {.status = absl::InternalError("the simulation diverged")};
    }
    return {.reward = steps_ == infinite_at_step
                          ? std::numeric_limits<double>::infinity()
                          : action[0] + action[1],
            .terminated = steps_ == terminates_at_step,
            .truncated = steps_ == spec_.max_episode_steps,
            .success = steps_ == succeeds_at_step};
  }
  void Observe(std::span<const std::span<std::byte>> columns) override {
    const auto value = static_cast<float>(steps_);
    std::memcpy(columns[0].data(), &value, sizeof(value));
  }
  const std::string& instruction() const override { return instruction_; }
  void ExpertAction(std::span<float> action) override {
    std::fill(action.begin(), action.end(), 0.25f);
  }

  std::counting_semaphore<>* gate = nullptr;  // Each step takes one, if set.
  int fails_at_step = -1;
  int infinite_at_step = -1;
  int terminates_at_step = -1;
  int succeeds_at_step = -1;
  std::thread::id thread;  // Of the last step.

 private:
  const TaskSpec spec_ = Spec();
  std::string instruction_;
  uint64_t seed_ = 0;
  int steps_ = 0;
};

}  // namespace flywheel
