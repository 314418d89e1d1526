#include "services/rollout/trajectory_recorder.h"

#include <algorithm>
#include <cstring>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace flywheel {
namespace {

void CopyAll(const std::vector<std::span<std::byte>>& from,
             const std::vector<std::span<std::byte>>& to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(to[i].data(), from[i].data(), from[i].size());
  }
}

}  // namespace

TrajectoryRecorder::TrajectoryRecorder(const Options& options)
    : options_(options),
      columns_{
          .action = options.schema.Find(column::kAction),
          .log_probability = options.schema.Find(column::kLogProbability),
          .value = options.schema.Find(column::kValue),
          .steps_executed = options.schema.Find(column::kStepsExecuted),
          .behavior_version = options.schema.Find(column::kBehaviorVersion),
          .reward = options.schema.Find(column::kReward),
          .terminated = options.schema.Find(column::kTerminated),
          .truncated = options.schema.Find(column::kTruncated),
          .instruction = options.schema.Find(column::kInstruction),
          .task = options.schema.Find(column::kTask),
          .seed = options.schema.Find(column::kSeed),
          .running_return = options.schema.Find(column::kRunningReturn),
          .episode_return = options.schema.Find(column::kEpisodeReturn),
          .episode_steps = options.schema.Find(column::kEpisodeSteps),
          .episode_success = options.schema.Find(column::kEpisodeSuccess)},
      writer_(options.schema,
              static_cast<uint32_t>(options.max_chunks * options.action_chunk),
              static_cast<uint32_t>(options.max_chunks)) {
  for (const ObservationSpec& observation : options_.task.observations) {
    carried_observation_.emplace_back(observation.bytes());
  }
}

void TrajectoryRecorder::BeginEpisode(uint64_t episode, uint64_t seed) {
  episode_ = episode;
  seed_ = seed;
  episode_steps_ = 0;
  episode_return_ = 0;
  episode_success_ = false;
  running_return_ = 0;
  carries_observation_ = false;
}

void TrajectoryRecorder::BeginTrajectory() {
  writer_.Begin();
  num_chunks_ = 0;
  num_steps_ = 0;
  first_step_ = episode_steps_;
  first_running_return_ = running_return_;
  terminated_ = false;
  if (!carries_observation_) return;
  const std::vector<std::span<std::byte>> first = observation();
  for (std::size_t i = 0; i < first.size(); ++i) {
    std::memcpy(first[i].data(), carried_observation_[i].data(),
                first[i].size());
  }
}

std::vector<std::span<std::byte>> TrajectoryRecorder::observation() {
  return ObservationAt(num_chunks_);
}

std::vector<std::span<std::byte>> TrajectoryRecorder::next_observation() {
  return num_chunks_ + 1 < options_.max_chunks ? ObservationAt(num_chunks_ + 1)
                                               : FinalObservation();
}

std::span<float> TrajectoryRecorder::actions() {
  return writer_.elements<float>(columns_.action, num_chunks_);
}

std::span<float> TrajectoryRecorder::rewards() {
  // Steps lie densely: a chunk that ends early leaves no gap, because the next
  // one begins where it ended.
  float* first = &writer_.scalar<float>(columns_.reward, num_steps_);
  return {first, static_cast<std::size_t>(options_.action_chunk)};
}

void TrajectoryRecorder::CloseChunk(const ChunkChoice& choice,
                                    const ChunkOutcome& outcome) {
  const std::size_t chunk = num_chunks_;
  for (int i = 0; i < outcome.steps_executed; ++i) {
    const std::size_t step = num_steps_ + i;
    const bool last = i + 1 == outcome.steps_executed;
    const float reward = writer_.scalar<float>(columns_.reward, step);
    writer_.scalar<uint8_t>(columns_.terminated, step) =
        last && outcome.terminated;
    writer_.scalar<uint8_t>(columns_.truncated, step) =
        last && outcome.truncated;
    episode_return_ += reward;
    running_return_ =
        static_cast<float>(options_.discount) * running_return_ + reward;
  }
  writer_.scalar<float>(columns_.log_probability, chunk) =
      choice.log_probability;
  writer_.scalar<float>(columns_.value, chunk) = choice.value;
  writer_.scalar<int32_t>(columns_.steps_executed, chunk) =
      outcome.steps_executed;
  writer_.scalar<int64_t>(columns_.behavior_version, chunk) =
      choice.behavior_version;
  const int64_t version = choice.behavior_version;
  version_min_ = chunk == 0 ? version : std::min(version_min_, version);
  version_max_ = chunk == 0 ? version : std::max(version_max_, version);
  num_steps_ += outcome.steps_executed;
  episode_steps_ += outcome.steps_executed;
  episode_success_ = episode_success_ || outcome.success;
  terminated_ = outcome.terminated;
  ++num_chunks_;
}

std::vector<std::byte> TrajectoryRecorder::Finish(
    RecordHeader header, std::string_view instruction) {
  const std::vector<std::span<std::byte>> final = FinalObservation();
  if (terminated_) {
    // Nobody looked after the end; the bytes still have to be determined.
    for (const std::span<std::byte> column : final) {
      std::memset(column.data(), 0, column.size());
    }
    carries_observation_ = false;
  } else {
    if (!full()) CopyAll(ObservationAt(num_chunks_), final);
    for (std::size_t i = 0; i < final.size(); ++i) {
      std::memcpy(carried_observation_[i].data(), final[i].data(),
                  final[i].size());
    }
    carries_observation_ = true;
  }
  if (columns_.instruction >= 0) {
    writer_.SetText(columns_.instruction, instruction);
  }
  writer_.SetText(columns_.task, options_.task.name);
  writer_.scalar<int64_t>(columns_.seed, 0) = static_cast<int64_t>(seed_);
  writer_.scalar<float>(columns_.running_return, 0) = first_running_return_;
  writer_.scalar<float>(columns_.episode_return, 0) =
      static_cast<float>(episode_return_);
  writer_.scalar<int64_t>(columns_.episode_steps, 0) = episode_steps_;
  if (columns_.episode_success >= 0) {
    writer_.scalar<uint8_t>(columns_.episode_success, 0) = episode_success_;
  }

  header.episode = episode_;
  header.first_step = static_cast<uint64_t>(first_step_);
  header.num_steps = static_cast<uint32_t>(num_steps_);
  header.num_chunks = static_cast<uint32_t>(num_chunks_);
  header.behavior_version_min = version_min_;
  header.behavior_version_max = version_max_;
  header.created_us = absl::ToUnixMicros(absl::Now());
  return writer_.Finish(header);
}

std::vector<std::span<std::byte>> TrajectoryRecorder::ObservationAt(int chunk) {
  std::vector<std::span<std::byte>> columns;
  const int count = static_cast<int>(options_.task.observations.size());
  for (int i = 0; i < count; ++i) columns.push_back(writer_.item(i, chunk));
  return columns;
}

std::vector<std::span<std::byte>> TrajectoryRecorder::FinalObservation() {
  std::vector<std::span<std::byte>> columns;
  const int count = static_cast<int>(options_.task.observations.size());
  for (int i = 0; i < count; ++i) {
    columns.push_back(writer_.item(count + i, 0));
  }
  return columns;
}

}  // namespace flywheel
