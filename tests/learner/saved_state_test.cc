#include "services/learner/saved_state.h"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

class SavedStateTest : public testing::Test {
 protected:
  ~SavedStateTest() override { fs::remove_all(folder_); }

  static CheckpointManifest At(int64_t step, double seconds) {
    return {.train_steps = step, .seconds = seconds, .phase = "training"};
  }
  void WriteCheckpoint(int64_t step, double seconds) {
    ASSERT_TRUE(
        checkpoints_
            .Write(At(step, seconds), std::vector(1, std::byte{1}), "job")
            .ok());
  }
  void WritePoint(int64_t step, double seconds) {
    ASSERT_TRUE(
        points_.Write(At(step, seconds), std::vector(1, std::byte{2})).ok());
  }
  void DamageCheckpoint(const std::string& name) {
    std::ofstream(folder_ + "/checkpoints/" + name + "/manifest.json") << "{";
  }
  absl::StatusOr<std::optional<SavedState>> Newest() {
    skipped_.clear();
    return NewestState(checkpoints_, points_, skipped_);
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-saved-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  CheckpointStore checkpoints_ =
      *CheckpointStore::Open({.folder = folder_ + "/checkpoints"});
  RecoveryPoints points_ = *RecoveryPoints::Open(folder_ + "/recovery");
  std::vector<std::string> skipped_;
};

TEST_F(SavedStateTest, ThereIsNoneAtTheBeginning) {
  const auto newest = Newest();
  ASSERT_TRUE(newest.ok()) << newest.status();
  EXPECT_FALSE(newest->has_value());
}

TEST_F(SavedStateTest, ARecoveryPointBeyondTheCheckpointIsTaken) {
  WriteCheckpoint(10, 1.0);
  WritePoint(12, 1.5);
  const auto newest = Newest();
  ASSERT_TRUE(newest.ok() && newest->has_value()) << newest.status();
  EXPECT_EQ((*newest)->origin, "the recovery point");
  EXPECT_EQ((*newest)->manifest.train_steps, 12);
  EXPECT_EQ((*newest)->state, std::vector(1, std::byte{2}));
  EXPECT_EQ((*newest)->newest_checkpoint, "step-000000000010");
}

TEST_F(SavedStateTest, ACheckpointBeyondTheRecoveryPointIsTaken) {
  WritePoint(10, 1.0);
  WriteCheckpoint(12, 1.5);
  const auto newest = Newest();
  ASSERT_TRUE(newest.ok() && newest->has_value()) << newest.status();
  EXPECT_EQ((*newest)->origin, "checkpoint step-000000000012");
  EXPECT_EQ((*newest)->state, std::vector(1, std::byte{1}));
}

// All of imitation has train step 0.
TEST_F(SavedStateTest, WithinAStepTheLaterOneIsTaken) {
  WriteCheckpoint(0, 9.0);
  WritePoint(0, 3.0);
  EXPECT_EQ((**Newest()).manifest.seconds, 9.0);
  WritePoint(0, 11.0);
  EXPECT_EQ((**Newest()).manifest.seconds, 11.0);
}

TEST_F(SavedStateTest, ADamagedCheckpointLeavesTheRecoveryPoint) {
  WriteCheckpoint(10, 1.0);
  WritePoint(7, 0.5);
  DamageCheckpoint("step-000000000010");
  const auto newest = Newest();
  ASSERT_TRUE(newest.ok() && newest->has_value()) << newest.status();
  EXPECT_EQ((*newest)->manifest.train_steps, 7);
  ASSERT_EQ(skipped_.size(), 1u);
  EXPECT_TRUE(Contains(skipped_[0], "step-000000000010"));
}

TEST_F(SavedStateTest, DamagedCheckpointsAreNeverPassedOverInSilence) {
  WriteCheckpoint(10, 1.0);
  DamageCheckpoint("step-000000000010");
  EXPECT_TRUE(absl::IsNotFound(Newest().status()));
}

}  // namespace
}  // namespace flywheel
