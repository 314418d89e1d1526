// Steps HalfCheetah as told on standard input, for comparison with Gymnasium.
//
// In:  qpos [9], qvel [9] float64, then actions [num_steps, 6] float32.
// Out: per step observation [17], reward, terminated, truncated, all float64.

#include <array>
#include <cstdio>
#include <vector>

#include "sim/mujoco_half_cheetah.h"

namespace {

constexpr std::size_t kCoordinates = 9;
constexpr std::size_t kActionSize = 6;

template <typename T, std::size_t kSize>
bool Read(std::array<T, kSize>& values) {
  return std::fread(values.data(), sizeof(T), kSize, stdin) == kSize;
}

}  // namespace

int main() {
  const auto made = flywheel::HalfCheetah::Make();
  std::array<double, kCoordinates> qpos;
  std::array<double, kCoordinates> qvel;
  if (!made.ok() || !Read(qpos) || !Read(qvel)) {
    std::fprintf(stderr, "half_cheetah_trace: %s\n",
                 made.status().ToString().c_str());
    return 1;
  }
  auto& environment = dynamic_cast<flywheel::HalfCheetah&>(**made);
  environment.SetState(qpos, qvel);
  std::array<float, kActionSize> action;
  while (Read(action)) {
    const flywheel::TimeStep step = environment.Step(action);
    std::vector<double> row = environment.Observation();
    row.push_back(step.reward);
    row.push_back(step.terminated);
    row.push_back(step.truncated);
    std::fwrite(row.data(), sizeof(double), row.size(), stdout);
  }
}
