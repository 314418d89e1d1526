#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "services/orchestrator/evaluation_file.h"
#include "services/orchestrator/log_tail.h"
#include "services/orchestrator/run_folder.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

class FilesTest : public ::testing::Test {
 protected:
  std::string Write(const std::string& text) {
    const std::string path = folder_ / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  const TempFolder folder_;
};

TEST_F(FilesTest, ReadsAnEvaluation) {
  const auto evaluation = ReadEvaluationFile(
      Write(R"({"policy_version": 9, "environment_steps": 100,
                "seconds_trained": 2.5, "episodes": 10,
                "episode_return_mean": -3.25, "episode_return_std": 0.5,
                "success_rate": 0.9})"));
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_EQ(evaluation->policy_version, 9);
  EXPECT_EQ(evaluation->seconds_trained, 2.5);
  EXPECT_EQ(evaluation->episode_return_mean, -3.25);
  EXPECT_EQ(evaluation->success_rate, 0.9);
}

TEST_F(FilesTest, ATaskWithoutSuccessHasNoRate) {
  const auto evaluation = ReadEvaluationFile(
      Write(R"({"policy_version": 9, "environment_steps": 100,
                "seconds_trained": 2.5, "episodes": 10,
                "episode_return_mean": 1, "episode_return_std": 0,
                "success_rate": null})"));
  ASSERT_TRUE(evaluation.ok()) << evaluation.status();
  EXPECT_TRUE(std::isnan(evaluation->success_rate));
}

TEST_F(FilesTest, AnEvaluationThatIsWrongIsNamed) {
  for (const char* const text :
       {"", "{", "[]", "null", "{}", R"({"policy_version": "nine"})"}) {
    const absl::Status status = ReadEvaluationFile(Write(text)).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss) << text;
    EXPECT_TRUE(Contains(status.message(), folder_ / "file")) << text;
  }
  EXPECT_TRUE(Contains(ReadEvaluationFile(folder_ / "none").status().message(),
                       "cannot read"));
}

TEST_F(FilesTest, TheLastLogLineIsTheLastThatSaysSomething) {
  EXPECT_EQ(LastLogLine(Write("one\ntwo\n\n \n"), 0), "two");
  EXPECT_EQ(LastLogLine(Write("no line end"), 0), "no line end");
  EXPECT_EQ(LastLogLine(Write(""), 0), "");
  EXPECT_EQ(LastLogLine(Write("\n\n"), 0), "");
  EXPECT_EQ(LastLogLine(folder_ / "none", 0), "");
}

TEST_F(FilesTest, TheLastLogLineIsOfTheBytesAsked) {
  const std::string path = Write("old\nnew\n");
  EXPECT_EQ(LastLogLine(path, 4), "new");
  EXPECT_EQ(LastLogLine(path, 8), "");
  EXPECT_EQ(LastLogLine(path, 99), "");
}

TEST_F(FilesTest, WhatOnlyTellsOfTheUsualIsNoReason) {
  EXPECT_EQ(LastLogLine(Write("2026-01-31T12:00:00.000 [info] done\n"), 0), "");
  EXPECT_EQ(LastLogLine(Write("2026-01-31T12:00:00.000 [warning] x\n"), 0),
            "x");
}

TEST_F(FilesTest, TheLastLogLineIsCleanText) {
  EXPECT_EQ(LastLogLine(
                Write("2026-01-31T12:00:00.000 [error] no [such] device\n"), 0),
            "no [such] device");
  EXPECT_EQ(LastLogLine(Write("a\tb\x1b[31mc"), 0), "a b [31mc");
  EXPECT_EQ(LastLogLine(Write("bad \xff byte"), 0), "bad ? byte");
  EXPECT_EQ(LastLogLine(Write(std::string(100000, 'x')), 0),
            std::string(500, 'x'));
}

TEST_F(FilesTest, ARunFolderHasRoomForLogsAndEvaluations) {
  const std::string path = folder_ / "runs/a";
  ASSERT_TRUE(CreateRunFolder(path).ok());
  ASSERT_TRUE(CreateRunFolder(path).ok()) << "again, for a resume";
  EXPECT_TRUE(std::filesystem::is_directory(path + "/logs"));
  EXPECT_TRUE(std::filesystem::is_directory(path + "/evaluations"));
}

TEST_F(FilesTest, ARunFolderThatCannotBeMadeIsNamed) {
  const absl::Status status = CreateRunFolder(Write("a file") + "/run");
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(status.message(), "cannot create run folder"));
}

TEST_F(FilesTest, OnlyWholeCheckpointsCount) {
  const std::string path = folder_ / "run";
  EXPECT_FALSE(HasSavedState(path));
  std::filesystem::create_directories(path +
                                      "/checkpoints/step-000000000001.partial");
  EXPECT_FALSE(HasSavedState(path));
  std::filesystem::create_directories(path + "/checkpoints/step-000000000001");
  EXPECT_TRUE(HasSavedState(path));
}

TEST_F(FilesTest, ARecoveryPointIsSomethingToGoOnFrom) {
  const std::string path = folder_ / "run";
  std::filesystem::create_directories(path + "/recovery");
  EXPECT_FALSE(HasSavedState(path));
  std::ofstream(path + "/recovery/point-1") << "x";
  EXPECT_TRUE(HasSavedState(path));
}

TEST_F(FilesTest, ARunFolderIsForOneRunAtATime) {
  const std::string path = folder_ / "run";
  ASSERT_TRUE(CreateRunFolder(path).ok());
  {
    const auto lock = RunFolderLock::Acquire(path, absl::ZeroDuration());
    ASSERT_TRUE(lock.ok()) << lock.status();
    const absl::Status second =
        RunFolderLock::Acquire(path, absl::Milliseconds(1)).status();
    EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
    EXPECT_TRUE(Contains(second.message(), "is in use by another run"));
  }
  EXPECT_TRUE(RunFolderLock::Acquire(path, absl::ZeroDuration()).ok());
}

TEST_F(FilesTest, ARunFolderStaysLockedUntilTheLastServiceEnds) {
  const std::string path = folder_ / "run";
  ASSERT_TRUE(CreateRunFolder(path).ok());
  int inherited = -1;
  {
    const auto lock = RunFolderLock::Acquire(path, absl::ZeroDuration());
    inherited = dup(lock->descriptor());  // As a child's descriptor is.
  }
  EXPECT_FALSE(RunFolderLock::Acquire(path, absl::ZeroDuration()).ok());
  close(inherited);
  EXPECT_TRUE(RunFolderLock::Acquire(path, absl::ZeroDuration()).ok());
}

}  // namespace
}  // namespace flywheel
