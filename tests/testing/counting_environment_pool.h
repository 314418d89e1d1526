#pragma once

#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "sim/environment_pool.h"

namespace flywheel {

// A pool whose environments count: the observation is the number of steps of
// the episode so far, every step's reward is 1, and an episode is truncated
// after `episode_steps`. Works in Receive(), in the order of submission.
class CountingEnvironmentPool final : public EnvironmentPool {
 public:
  CountingEnvironmentPool(int num_environments, int episode_steps)
      : steps_(num_environments), episode_steps_(episode_steps) {
    spec_.name = "counting";
    spec_.observations = {{.name = "state", .shape = {1}}};
    spec_.action_size = 1;
    spec_.max_episode_steps = episode_steps;
    spec_.has_expert = true;
  }

  const TaskSpec& spec() const override { return spec_; }
  int num_environments() const override {
    return static_cast<int>(steps_.size());
  }
  void Submit(EnvironmentRequest request) override {
    seeds.push_back(request.reset ? request.seed : 0);
    requests_.push_back(std::move(request));
  }
  void Receive(std::size_t min_results,
               std::vector<EnvironmentResult>& results) override {
    for (std::size_t i = 0; i < min_results && !requests_.empty(); ++i) {
      results.push_back(Work(requests_.front()));
      requests_.pop_front();
    }
  }
  std::size_t outstanding() const override { return requests_.size(); }

  std::vector<uint64_t> seeds;  // Of every request; 0: no reset.
  int failing_environment = -1;

 private:
  EnvironmentResult Work(EnvironmentRequest& request) {
    EnvironmentResult result{.environment = request.environment};
    if (request.environment == failing_environment) {
      result.status = absl::InternalError("diverged");
      return result;
    }
    int& steps = steps_[request.environment];
    if (request.reset) steps = 0;
    for (int i = 0; i < request.num_steps && !result.truncated; ++i) {
      if (request.source == ActionSource::kExpert) request.actions[i] = 0.5f;
      request.rewards[i] = 1;
      ++result.steps_executed;
      result.truncated = ++steps == episode_steps_;
    }
    if (!request.observation.empty()) {
      const auto value = static_cast<float>(steps);
      std::memcpy(request.observation[0].data(), &value, sizeof(value));
    }
    return result;
  }

  TaskSpec spec_;
  std::vector<int> steps_;
  const int episode_steps_;
  std::deque<EnvironmentRequest> requests_;
};

}  // namespace flywheel
