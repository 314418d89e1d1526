#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/core/job_spec.h"
#include "services/core/trajectory_schema.h"
#include "services/wire/record_writer.h"
#include "sim/task_spec.h"

namespace flywheel {

// What the policy chose for one chunk.
struct ChunkChoice {
  float log_probability = 0;
  float value = 0;
  int64_t behavior_version = 0;
};

// What executing one chunk led to.
struct ChunkOutcome {
  int steps_executed = 0;
  bool terminated = false;
  bool truncated = false;
  bool success = false;

  bool last() const { return terminated || truncated; }
};

// Records the episodes of one environment, trajectory by trajectory.
//
// The environment writes observations and rewards straight into the record
// being written; the next trajectory of a cut episode begins with a copy of the
// final observation. Order of calls: BeginEpisode, BeginTrajectory, then for
// each chunk: chunk spans, CloseChunk; at the end of the trajectory Finish.
//
// Not thread-safe. Spans stay valid until Finish().
class TrajectoryRecorder {
 public:
  struct Options {
    TaskSpec task;
    TrajectorySchema schema;  // TaskSchema() of the task.
    int action_chunk = 1;     // Environment steps per chunk.
    int max_chunks = 1;       // Per trajectory.
    double discount = 0.99;   // Of the running return.
  };

  explicit TrajectoryRecorder(const Options& options);

  void BeginEpisode(uint64_t episode, uint64_t seed);
  void BeginTrajectory();

  // Where the observation before the present chunk belongs.
  std::vector<std::span<std::byte>> observation();
  // Where the observation after the present chunk belongs.
  std::vector<std::span<std::byte>> next_observation();
  std::span<float> actions();  // [action_chunk, action_size]
  std::span<float> rewards();  // [action_chunk]

  // The present chunk was executed; the next one becomes the present.
  void CloseChunk(const ChunkChoice& choice, const ChunkOutcome& outcome);

  int num_chunks() const { return num_chunks_; }
  bool full() const { return num_chunks_ == options_.max_chunks; }
  int64_t num_steps() const { return num_steps_; }
  double episode_return() const { return episode_return_; }
  int64_t episode_steps() const { return episode_steps_; }
  bool episode_success() const { return episode_success_; }

  // Ends the trajectory after at least one chunk and returns its record.
  // `header` brings the names and the credit; counts, episode, versions and
  // times are filled in here.
  std::vector<std::byte> Finish(RecordHeader header,
                                std::string_view instruction);

 private:
  struct Columns {
    int action, log_probability, value, steps_executed, behavior_version;
    int reward, terminated, truncated, instruction, task, seed;
    int running_return, episode_return, episode_steps, episode_success;
  };

  std::vector<std::span<std::byte>> ObservationAt(int chunk);
  std::vector<std::span<std::byte>> FinalObservation();

  const Options options_;
  const Columns columns_;
  RecordWriter writer_;

  uint64_t episode_ = 0;
  uint64_t seed_ = 0;
  int64_t episode_steps_ = 0;
  double episode_return_ = 0;
  bool episode_success_ = false;
  float running_return_ = 0;  // Discounted, of the steps so far.

  int num_chunks_ = 0;
  int num_steps_ = 0;
  int64_t first_step_ = 0;
  float first_running_return_ = 0;
  int64_t version_min_ = 0;
  int64_t version_max_ = 0;
  bool terminated_ = false;
  // The last observation of a cut trajectory: the next one begins with it.
  std::vector<std::vector<std::byte>> carried_observation_;
  bool carries_observation_ = false;
};

}  // namespace flywheel
