#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flywheel {

// What a checkpoint or a recovery point says of itself: how far training was.
struct CheckpointManifest {
  int64_t policy_version = 0;
  int64_t train_steps = 0;
  int64_t environment_steps = 0;  // Trained on by then.
  int64_t episodes = 0;
  double seconds = 0;  // Of budget.seconds.
  std::string phase;   // "imitation", "training".
  std::string task;
  std::map<std::string, double>
      numbers;  // Whatever else training goes on from.
};

}  // namespace flywheel
