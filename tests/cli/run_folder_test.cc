#include "cli/run_folder.h"

#include <gtest/gtest.h>

#include <fstream>

#include "absl/strings/match.h"
#include "cli/file_text.h"
#include "cli/run_records.h"
#include "tests/testing/temp_folder.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

const absl::Time kNow = absl::FromUnixSeconds(1000);

void Write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(RunFolderTest, MakesFoldersOnTheWay) {
  const TempFolder temp;
  const auto folder = RunFolder::Create(temp / "a/b/c", "job", kNow);
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_TRUE(fs::is_directory(temp / "a/b/c"));
  EXPECT_TRUE(folder->absolute().is_absolute());
}

TEST(RunFolderTest, TakesAnEmptyFolder) {
  const TempFolder temp;
  fs::create_directory(temp / "a");
  EXPECT_TRUE(RunFolder::Create(temp / "a", "job", kNow).ok());
}

TEST(RunFolderTest, RefusesOneThatIsNotEmpty) {
  const TempFolder temp;
  fs::create_directory(temp / "a");
  Write(temp / "a/x", "");
  const auto folder = RunFolder::Create(temp / "a", "job", kNow);
  EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(absl::StrContains(folder.status().message(),
                                "not empty; choose another folder"));
  EXPECT_TRUE(
      absl::StrContains(folder.status().message(), "--resume " + (temp / "a")));
}

TEST(RunFolderTest, RefusesAFileAndWhatCannotBeMade) {
  const TempFolder temp;
  Write(temp / "file", "x");
  for (const char* path : {"file", "file/a"}) {
    const auto folder = RunFolder::Create(temp / path, "job", kNow);
    EXPECT_EQ(folder.status().code(), absl::StatusCode::kInvalidArgument)
        << path;
  }
}

TEST(RunFolderTest, IsNamedAfterTheJobAndTheTimeUnlessSaid) {
  const TempFolder temp;
  const fs::path before = fs::current_path();
  fs::current_path(temp / "");
  {
    const auto first = RunFolder::Create("", "reach", kNow);
    const auto second = RunFolder::Create("", "reach", kNow);
    ASSERT_TRUE(first.ok() && second.ok());
    const std::string expected =
        "runs/reach-" +
        absl::FormatTime("%Y%m%d-%H%M%S", kNow, absl::LocalTimeZone());
    EXPECT_EQ(first->path(), expected);
    EXPECT_EQ(second->path(), expected + "-2");
  }
  fs::current_path(before);
}

TEST(RunFolderTest, BelongsToOneAtATime) {
  const TempFolder temp;
  {
    const auto first = RunFolder::Create(temp / "a", "job", kNow);
    ASSERT_TRUE(first.ok());
    Write(first->job(), "task: x\n");
    const auto second = RunFolder::Open(temp / "a");
    EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_TRUE(RunFolder::Open(temp / "a").ok());
}

TEST(RunFolderTest, OpensOnlyARunFolder) {
  const TempFolder temp;
  EXPECT_EQ(RunFolder::Open(temp / "none").status().code(),
            absl::StatusCode::kNotFound);
  fs::create_directory(temp / "a");
  EXPECT_EQ(RunFolder::Open(temp / "a").status().message(),
            temp / "a" + ": no run folder, it has no job.yaml");
}

TEST(FileTextTest, ReadsBackWhatWasWrittenAndLeavesNothingElse) {
  const TempFolder temp;
  ASSERT_TRUE(WriteFileAtomically(temp / "x", "one").ok());
  ASSERT_TRUE(WriteFileAtomically(temp / "x", "two").ok());
  EXPECT_EQ(*ReadFile(temp / "x", 100), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(temp / ""), {}), 1);
}

TEST(FileTextTest, SaysWhatIsWrong) {
  const TempFolder temp;
  Write(temp / "x", "0123456789");
  EXPECT_EQ(ReadFile(temp / "none", 9).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(ReadFile(temp / "", 9).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ReadFile(temp / "x", 9).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(ReadFile(temp / "x", 10).ok());
  EXPECT_EQ(WriteFileAtomically(temp / "none/x", "").code(),
            absl::StatusCode::kUnavailable);
}

TEST(RunRecordsTest, ARunOfAnyEndGetsSummaryAndReport) {
  const TempFolder temp;
  const auto folder = RunFolder::Create(temp / "a", "job", kNow);
  ASSERT_TRUE(folder.ok());
  Write(folder->job(), "task: <x>\n");
  Job job;
  job.state = JobState::kFailed;
  job.message = "bytes that are no text: \xff";
  job.spec.name = "job";
  ASSERT_TRUE(WriteRecords(*folder, job, nullptr).ok());
  EXPECT_EQ(ReadSummary(folder->summary())["state"], "FAILED");
  const auto report = ReadFile(folder->report(), 1 << 20);
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(absl::StrContains(*report, "task: &lt;x&gt;"));
  fs::remove(folder->report());
  ASSERT_TRUE(RewriteReport(folder->path()).ok());
  EXPECT_EQ(*ReadFile(folder->report(), 1 << 20), *report);
}

TEST(RunRecordsTest, ABrokenSummaryIsNone) {
  const TempFolder temp;
  Write(temp / "summary.json", "{\"a\": ");
  EXPECT_TRUE(ReadSummary(temp / "summary.json").is_null());
  EXPECT_EQ(RewriteReport(temp / "").code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace flywheel
