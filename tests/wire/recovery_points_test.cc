#include "services/wire/recovery_points.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

class RecoveryPointsTest : public testing::Test {
 protected:
  ~RecoveryPointsTest() override { fs::remove_all(folder_); }

  RecoveryPoints Open() { return *RecoveryPoints::Open(folder_); }

  static std::vector<std::byte> StateOf(int64_t step) {
    return std::vector<std::byte>(1000 + step % 7, std::byte(step));
  }

  static absl::Status Write(RecoveryPoints& points, int64_t step) {
    return points.Write({.policy_version = step,
                         .train_steps = step,
                         .environment_steps = 10 * step,
                         .seconds = 0.5 * static_cast<double>(step),
                         .phase = "training",
                         .task = "t",
                         .numbers = {{"share", 0.25}}},
                        StateOf(step));
  }

  // Train step of the newest point, having checked that its state belongs to
  // it; -1 if there is none.
  int64_t NewestStep() {
    const absl::StatusOr<RecoveryPoint> point = Open().ReadNewest(skipped_);
    if (!point.ok()) return -1;
    EXPECT_EQ(point->state, StateOf(point->manifest.train_steps));
    return point->manifest.train_steps;
  }

  std::string File(int number) const {
    return folder_ + "/point-" + std::to_string(number);
  }

  void Flip(const std::string& path, std::streamoff at) {
    std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(at);
    const char before = static_cast<char>(bytes.get());
    bytes.seekp(at);
    bytes.put(static_cast<char>(before ^ 4));
  }

  const std::string folder_ = [] {
    char name[] = "/tmp/flywheel-recovery-XXXXXX";
    return std::string(mkdtemp(name));
  }();
  std::vector<std::string> skipped_;
};

TEST_F(RecoveryPointsTest, ThereIsNoneAtFirst) {
  EXPECT_TRUE(absl::IsNotFound(Open().ReadNewest(skipped_).status()));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(RecoveryPointsTest, ReadsBackWhatWasWritten) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 7).ok());
  const absl::StatusOr<RecoveryPoint> point = Open().ReadNewest(skipped_);
  ASSERT_TRUE(point.ok()) << point.status();
  EXPECT_EQ(point->manifest.train_steps, 7);
  EXPECT_EQ(point->manifest.environment_steps, 70);
  EXPECT_EQ(point->manifest.seconds, 3.5);
  EXPECT_EQ(point->manifest.phase, "training");
  EXPECT_EQ(point->manifest.numbers.at("share"), 0.25);
  EXPECT_EQ(point->state, StateOf(7));
}

TEST_F(RecoveryPointsTest, GoesOnCountingInAnotherLife) {
  for (int64_t step = 1; step <= 6; ++step) {
    RecoveryPoints points = Open();
    ASSERT_TRUE(Write(points, step).ok());
    EXPECT_EQ(NewestStep(), step);
  }
}

TEST_F(RecoveryPointsTest, KeepsTwoFilesHoweverManyAreWritten) {
  RecoveryPoints points = Open();
  for (int64_t step = 1; step <= 9; ++step) {
    ASSERT_TRUE(Write(points, step).ok());
  }
  EXPECT_EQ(NewestStep(), 9);
  EXPECT_EQ(
      std::distance(fs::directory_iterator(folder_), fs::directory_iterator()),
      2);
}

// Wherever one bit is wrong, the point before is found instead, and the
// sentence names the file.
TEST_F(RecoveryPointsTest, FallsBackFromAnyFlippedBit) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 1).ok());
  ASSERT_TRUE(Write(points, 2).ok());
  const std::string newest = File(0);
  const auto bytes = static_cast<std::streamoff>(fs::file_size(newest));
  for (std::streamoff at = 0; at < bytes; ++at) {
    Flip(newest, at);
    skipped_.clear();
    EXPECT_EQ(NewestStep(), 1) << "byte " << at;
    ASSERT_EQ(skipped_.size(), 1u) << "byte " << at;
    EXPECT_TRUE(Contains(skipped_[0], newest));
    Flip(newest, at);
  }
  EXPECT_EQ(NewestStep(), 2);
}

TEST_F(RecoveryPointsTest, FallsBackFromAnyLength) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 1).ok());
  ASSERT_TRUE(Write(points, 2).ok());
  for (auto bytes = fs::file_size(File(0)); bytes-- > 0;) {
    fs::resize_file(File(0), bytes);
    EXPECT_EQ(NewestStep(), 1) << bytes << " bytes";
  }
}

TEST_F(RecoveryPointsTest, PromisesOfAHeaderTakeNoMemory) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 1).ok());
  ASSERT_TRUE(Write(points, 2).ok());
  // The highest byte of manifest_bytes: 2^62 bytes promised.
  Flip(File(0), 23);
  EXPECT_EQ(NewestStep(), 1);
}

TEST_F(RecoveryPointsTest, AKilledWriterLeavesAWholePoint) {
  int64_t reached = 0;
  for (int round = 0; round < 20; ++round) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t writer = fork();
    if (writer == 0) {
      RecoveryPoints points = *RecoveryPoints::Open(folder_);
      for (int64_t step = reached + 1;; ++step) {
        if (!Write(points, step).ok()) _exit(1);
        // What was said is what must be found.
        if (write(ready[1], &step, sizeof(step)) != sizeof(step)) _exit(0);
      }
    }
    close(ready[1]);
    int64_t said = 0;
    for (int64_t heard = 0; said < reached + 3 + 37 * round;) {
      ASSERT_EQ(read(ready[0], &heard, sizeof(heard)), 8);
      said = heard;
    }
    kill(writer, SIGKILL);
    waitpid(writer, nullptr, 0);
    for (int64_t heard = 0; read(ready[0], &heard, sizeof(heard)) == 8;) {
      said = heard;
    }
    close(ready[0]);
    const int64_t found = NewestStep();
    EXPECT_GE(found, said);
    EXPECT_LE(found, said + 1);
    EXPECT_TRUE(skipped_.empty()) << skipped_.front();
    reached = found;
  }
}

TEST_F(RecoveryPointsTest, AFullDiskIsAnErrorAndLeavesTheLastPoint) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 1).ok());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit tight{.rlim_cur = 500, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  const absl::Status refused = Write(points, 2);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_TRUE(Contains(refused.message(), "point-0"));
  EXPECT_EQ(NewestStep(), 1);
  ASSERT_TRUE(Write(points, 3).ok());
  EXPECT_EQ(NewestStep(), 3);
}

TEST_F(RecoveryPointsTest, ClearForgetsAll) {
  RecoveryPoints points = Open();
  ASSERT_TRUE(Write(points, 1).ok());
  ASSERT_TRUE(Write(points, 2).ok());
  ASSERT_TRUE(points.Clear().ok());
  EXPECT_EQ(NewestStep(), -1);
}

TEST_F(RecoveryPointsTest, AFolderThatCannotBeIsNamed) {
  std::ofstream(folder_ + "/file") << "x";
  const auto points = RecoveryPoints::Open(folder_ + "/file/recovery");
  EXPECT_TRUE(absl::IsUnavailable(points.status()));
  EXPECT_TRUE(Contains(points.status().message(), "file/recovery"));
}

}  // namespace
}  // namespace flywheel
