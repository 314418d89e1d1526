#include "services/rollout/trajectory_recorder.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "services/rollout/task_schema.h"
#include "services/wire/record.h"

namespace flywheel {
namespace {

constexpr int kChunk = 4;

TaskSpec Task() {
  TaskSpec task;
  task.name = "recorded";
  task.observations = {{.name = "state", .shape = {1}}};
  task.action_size = 2;
  task.max_episode_steps = 100;
  task.has_instruction = true;
  task.has_success = true;
  return task;
}

class TrajectoryRecorderTest : public testing::Test {
 protected:
  void Observe(std::vector<std::span<std::byte>> at, float value) {
    std::memcpy(at[0].data(), &value, sizeof(value));
  }

  // Executes `steps` steps of one chunk, each with reward `reward`.
  void Chunk(int steps, float reward, ChunkOutcome outcome = {}) {
    for (float& r : recorder_.rewards()) r = -100;  // Unless executed.
    for (int i = 0; i < steps; ++i) recorder_.rewards()[i] = reward;
    Observe(recorder_.next_observation(), next_++);
    outcome.steps_executed = steps;
    recorder_.CloseChunk({.behavior_version = version_++}, outcome);
  }

  RecordView Finish() {
    bytes_.push_back(recorder_.Finish({.environment = 3}, "reach it"));
    return *RecordView::Parse(bytes_.back(), schema_, SchemaHash(schema_));
  }

  std::span<const float> Floats(const RecordView& view, std::string_view name) {
    return view.elements<float>(schema_.Find(name));
  }

  const PolicySpec policy_{.action_chunk = kChunk};
  const TrajectorySchema schema_ = TaskSchema(Task(), policy_);
  TrajectoryRecorder recorder_{{.task = Task(),
                                .schema = schema_,
                                .action_chunk = kChunk,
                                .max_chunks = 3,
                                .discount = 0.5}};
  float next_ = 1;
  int64_t version_ = 5;
  std::vector<std::vector<std::byte>> bytes_;
};

TEST_F(TrajectoryRecorderTest, StepsOfAShortChunkLeaveNoGap) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(4, 1);
  Chunk(2, 7, {.truncated = true});
  const RecordView view = Finish();
  EXPECT_EQ(view.header().num_steps, 6u);
  EXPECT_EQ(view.header().num_chunks, 2u);
  const std::span<const float> rewards = Floats(view, column::kReward);
  EXPECT_EQ(std::vector<float>(rewards.begin(), rewards.end()),
            (std::vector<float>{1, 1, 1, 1, 7, 7}));
  const auto truncated = view.column(schema_.Find(column::kTruncated));
  EXPECT_EQ(truncated[5], std::byte{1});
  EXPECT_EQ(truncated[3], std::byte{0});
}

TEST_F(TrajectoryRecorderTest, NamesTheOldestAndTheNewestBehaviorVersion) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(4, 1);
  Chunk(4, 1);
  const RecordHeader header = Finish().header();
  EXPECT_EQ(header.behavior_version_min, 5);
  EXPECT_EQ(header.behavior_version_max, 6);
}

TEST_F(TrajectoryRecorderTest, ACutEpisodeGoesOnFromItsFinalObservation) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(4, 1);
  EXPECT_EQ(Floats(Finish(), "final_observation/state")[0], 1);
  recorder_.BeginTrajectory();
  Chunk(4, 1);
  const RecordView second = Finish();
  EXPECT_EQ(second.header().first_step, 4u);
  EXPECT_EQ(Floats(second, "observation/state")[0], 1);
  EXPECT_EQ(Floats(second, "final_observation/state")[0], 2);
}

TEST_F(TrajectoryRecorderTest, CarriesTheRunningReturnAcrossACut) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(2, 1);
  Finish();
  recorder_.BeginTrajectory();
  Chunk(1, 1);
  // 0.5 * (0.5 * 0 + 1) + 1
  EXPECT_EQ(Floats(Finish(), column::kRunningReturn)[0], 1.5f);
}

TEST_F(TrajectoryRecorderTest, NobodyLooksAfterATerminalStep) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(3, 1, {.terminated = true, .success = true});
  const RecordView view = Finish();
  EXPECT_EQ(Floats(view, "final_observation/state")[0], 0);
  EXPECT_EQ(view.column(schema_.Find(column::kEpisodeSuccess))[0],
            std::byte{1});
  EXPECT_EQ(view.text(schema_.Find(column::kInstruction)), "reach it");
}

TEST_F(TrajectoryRecorderTest, ANewEpisodeForgetsTheOldOne) {
  recorder_.BeginEpisode(0, 1);
  recorder_.BeginTrajectory();
  Chunk(4, 3);
  Finish();
  recorder_.BeginEpisode(1, 2);
  recorder_.BeginTrajectory();
  Observe(recorder_.observation(), 9);
  Chunk(1, 2);
  const RecordView view = Finish();
  EXPECT_EQ(view.header().episode, 1u);
  EXPECT_EQ(view.header().first_step, 0u);
  EXPECT_EQ(Floats(view, column::kEpisodeReturn)[0], 2);
  EXPECT_EQ(Floats(view, column::kRunningReturn)[0], 0);
  EXPECT_EQ(Floats(view, "observation/state")[0], 9);
}

}  // namespace
}  // namespace flywheel
