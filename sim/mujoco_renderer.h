#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "sim/mujoco_model.h"

namespace flywheel {

// Renders one model's cameras in software (OSMesa), off screen.
//
// A rendering context belongs to the thread that made it: take the renderer of
// the calling thread with ForThisThread() and never hand it to another.
class MujocoRenderer {
 public:
  // The calling thread's renderer of `model`, made at the first call and freed
  // when the thread ends. Aborts with a sentence if OSMesa cannot make a
  // context: `flywheel doctor` says what to install.
  static MujocoRenderer& ForThisThread(const MujocoModel& model);

  explicit MujocoRenderer(MujocoModel model);
  ~MujocoRenderer();
  MujocoRenderer(const MujocoRenderer&) = delete;
  MujocoRenderer& operator=(const MujocoRenderer&) = delete;

  struct View {
    int camera = 0;  // Index in the model.
    int width = 64;
    int height = 64;
  };

  // Renders the present state of `data` into `pixels`: uint8
  // [height, width, 3], RGB, rows top-down.
  void Render(mjData& data, const View& view, std::span<std::byte> pixels);

 private:
  struct Context;

  const MujocoModel model_;
  std::unique_ptr<Context> context_;
};

}  // namespace flywheel
