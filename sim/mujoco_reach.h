#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "sim/environment.h"
#include "sim/mujoco_model.h"
#include "sim/random.h"

namespace flywheel {

// "tabletop/reach": a three-joint arm, three objects of different colors or
// shapes at random places on a table, and an instruction in words such as
// "reach the red cube". The policy sees an image from above and its own joints;
// nothing tells it where the objects are.
//
// Observations: "image" uint8 [64, 64, 3]; "state" float32 [12]: per joint sine
// and cosine of its angle, per joint its velocity, and the position of the hand
// relative to the base, all of order 1. Action [3]: how far each joint's servo
// aims beyond the joint's present angle, 1 = 0.2 rad; in the 0.05 s of an
// environment step the joint covers about half of it.
//
// Reward: 5 per meter by which the hand came nearer to its goal, a point just
// above the object; 1 more when it is within 4 cm: success, which terminates.
// Truncated after 32 steps.
class Reach final : public Environment {
 public:
  static constexpr int kFrameSkip = 5;  // Physics steps per environment step.

  static absl::StatusOr<std::unique_ptr<Environment>> Make();
  static absl::StatusOr<MujocoModel> LoadModel();

  explicit Reach(MujocoModel model);

  static TaskSpec Spec();

  const TaskSpec& spec() const override { return spec_; }
  void Reset(uint64_t seed) override;
  TimeStep Step(std::span<const float> action) override;
  void Observe(std::span<const std::span<std::byte>> columns) override;
  const std::string& instruction() const override { return instruction_; }

  // Inverse kinematics, then straight to it in joint space: a smooth function
  // of the joint angles and the place of the object.
  void ExpertAction(std::span<float> action) override;

  // Meters from the hand to its goal.
  double Distance() const;

  // Where the goal's object appears in the image: (row, column), in pixels.
  std::array<double, 2> GoalPixel() const;

 private:
  static constexpr std::size_t kJoints = 3;
  static constexpr std::size_t kStateSize = 12;

  void PlaceObjects(Random& random);
  std::array<float, kStateSize> State() const;
  std::array<double, kJoints> GoalAngles() const;

  const TaskSpec spec_ = Spec();
  const MujocoModel model_;
  const MujocoData data_;
  std::string instruction_;
  std::array<double, 3> goal_{};
  double distance_ = 0;
  int steps_ = 0;
};

}  // namespace flywheel
