#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/core/credit.h"
#include "services/rollout/trajectory_recorder.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// Where an environment stands between two turns of the worker.
enum class SlotState {
  kNoCredit,     // Nothing to do until the buffer grants.
  kResetting,    // In the pool: a new episode.
  kStepping,     // In the pool: a chunk.
  kAwaitsAction  // Its observation lies ready for the policy.
};

// One environment of a rollout: its episode, its credit, and the trajectories
// collected under it so far.
struct EnvironmentSlot {
  EnvironmentSlot(int index, uint64_t environment,
                  const TrajectoryRecorder::Options& options)
      : index(index), environment(environment), recorder(options) {}

  const int index;             // In the pool.
  const uint64_t environment;  // In the job.
  TrajectoryRecorder recorder;
  SlotState state = SlotState::kNoCredit;

  // The episode.
  bool episode_running = false;
  bool observed = false;  // The present chunk's observation is in place.
  std::string instruction;
  uint64_t episodes = 0;        // Begun by the policy.
  uint64_t demonstrations = 0;  // Begun by the expert.
  uint64_t episode = 0;         // The present one's number.
  uint64_t chunks_in_episode = 0;

  // The credit.
  std::optional<Credit> credit;
  bool void_credit = false;  // Revoked: what is collected now is for nothing.
  bool called_in = false;
  bool trajectory_open = false;
  int chunks_left = 0;
  absl::Time granted;
  std::vector<MessageFrame> records;

  // Of the chunk that is being executed.
  ChunkChoice choice;
  std::vector<float> step_log_probability;  // [action_chunk]
  std::vector<float> expert_noise;  // [action_chunk, action_size], or empty.
};

}  // namespace flywheel
