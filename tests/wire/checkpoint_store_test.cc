#include "services/wire/checkpoint_store.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

class CheckpointStoreTest : public testing::Test {
 protected:
  ~CheckpointStoreTest() override { fs::remove_all(folder_); }

  std::string Write(int64_t train_steps) {
    const absl::StatusOr<std::string> name =
        store_.Write({.policy_version = train_steps,
                      .train_steps = train_steps,
                      .environment_steps = 10 * train_steps,
                      .seconds = 1.5,
                      .phase = "training",
                      .task = "t",
                      .numbers = {{"share", 0.25}}},
                     state_, "job bytes");
    EXPECT_TRUE(name.ok()) << name.status();
    return *name;
  }

  // Flips one bit of a file in the middle.
  void Damage(const std::string& name, const std::string& file) {
    const fs::path path = fs::path(folder_) / name / file;
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    const auto middle = static_cast<std::streamoff>(fs::file_size(path) / 2);
    bytes.seekg(middle);
    const char before = static_cast<char>(bytes.get());
    bytes.seekp(middle);
    bytes.put(static_cast<char>(before ^ 4));
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-checkpoints-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  CheckpointStore store_ =
      *CheckpointStore::Open({.folder = folder_, .keep = 2});
  const std::vector<std::byte> state_ = std::vector<std::byte>(1000);
  std::vector<std::string> skipped_;
};

TEST_F(CheckpointStoreTest, AStepWrittenAgainLeavesOneWholeCheckpoint) {
  Write(7);
  Write(7);
  EXPECT_EQ(store_.Names().size(), 1u);
  EXPECT_TRUE(store_.ReadNewest(skipped_).ok());
  EXPECT_FALSE(fs::exists(folder_ + "/step-000000000007.partial"));
}

TEST_F(CheckpointStoreTest, ReadsBackWhatWasWritten) {
  const std::string name = Write(7);
  const absl::StatusOr<Checkpoint> checkpoint = store_.ReadNewest(skipped_);
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
  EXPECT_EQ(checkpoint->name, name);
  EXPECT_EQ(checkpoint->manifest.train_steps, 7);
  EXPECT_EQ(checkpoint->manifest.environment_steps, 70);
  EXPECT_EQ(checkpoint->manifest.seconds, 1.5);
  EXPECT_EQ(checkpoint->manifest.numbers.at("share"), 0.25);
  EXPECT_EQ(checkpoint->state, state_);
  EXPECT_EQ(checkpoint->job, "job bytes");
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(CheckpointStoreTest, KeepsTheNewestAndThePinned) {
  const std::string first = Write(1);
  store_.Pin(first);
  Write(2);
  const std::string third = Write(3);
  const std::string fourth = Write(4);
  EXPECT_EQ(store_.Names(), (std::vector<std::string>{first, third, fourth}));
  store_.Unpin(first);
  const std::string fifth = Write(5);
  EXPECT_EQ(store_.Names(), (std::vector<std::string>{fourth, fifth}));
}

TEST_F(CheckpointStoreTest, FallsBackToTheNewestValidOneAndSaysSo) {
  for (const char* file : {"manifest.json", "state.safetensors", "job.pb"}) {
    const std::string older = Write(1);
    const std::string newer = Write(2);
    Damage(newer, file);
    skipped_.clear();
    const absl::StatusOr<Checkpoint> found = store_.ReadNewest(skipped_);
    ASSERT_TRUE(found.ok()) << file << ": " << found.status();
    EXPECT_EQ(found->name, older) << file;
    ASSERT_EQ(skipped_.size(), 1u) << file;
    EXPECT_NE(skipped_[0].find(newer), std::string::npos);
  }
}

TEST_F(CheckpointStoreTest, NeverStartsSilentlyWhenAllAreDamaged) {
  Damage(Write(1), "state.safetensors");
  EXPECT_EQ(store_.ReadNewest(skipped_).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(skipped_.size(), 1u);
}

TEST_F(CheckpointStoreTest, ATruncatedFileIsDamaged) {
  const std::string name = Write(1);
  fs::resize_file(fs::path(folder_) / name / "state.safetensors", 500);
  EXPECT_EQ(store_.Read(name).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CheckpointStoreTest, WhatWasNotFinishedDoesNotCount) {
  fs::create_directories(fs::path(folder_) / "step-000000000009.partial");
  EXPECT_TRUE(store_.Names().empty());
}

TEST_F(CheckpointStoreTest, TheSameStepWrittenAgainReplacesTheFormer) {
  Damage(Write(3), "state.safetensors");
  const std::string again = Write(3);
  EXPECT_TRUE(store_.Read(again).ok());
}

}  // namespace
}  // namespace flywheel
