#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sim/environment.h"
#include "sim/mujoco_model.h"

namespace flywheel {

// Gymnasium's HalfCheetah-v5: from the same state and actions within
// [-1, 1] the same numbers, step by step. Beyond, ours is clipped before its
// cost is counted, Gymnasium's after. The MJCF file comes from the gymnasium
// wheel, or from the folder FLYWHEEL_GYMNASIUM_ASSETS names.
//
// Reward: forward velocity - 0.1 * sum of squared actions. Never terminates;
// truncated after 1,000 steps of 0.05 s.
class HalfCheetah final : public Environment {
 public:
  static constexpr int kFrameSkip = 5;  // Physics steps per environment step.

  // Internal if the model file is missing or does not compile.
  static absl::StatusOr<std::unique_ptr<Environment>> Make();
  static absl::StatusOr<MujocoModel> LoadModel();

  explicit HalfCheetah(MujocoModel model);

  static TaskSpec Spec();

  const TaskSpec& spec() const override { return spec_; }
  void Reset(uint64_t seed) override;
  TimeStep Step(std::span<const float> action) override;
  void Observe(std::span<const std::span<std::byte>> columns) override;
  const std::string& instruction() const override { return instruction_; }
  void ExpertAction(std::span<float> action) override;

  // For comparison with the original: the state itself [9] and [9], and the
  // observation [17] in the precision it is computed in.
  void SetState(std::span<const double> qpos, std::span<const double> qvel);
  std::vector<double> Observation() const;

 private:
  const TaskSpec spec_ = Spec();
  const std::string instruction_;
  const MujocoModel model_;
  const MujocoData data_;
  int steps_ = 0;
};

}  // namespace flywheel
