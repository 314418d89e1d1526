#include "services/orchestrator/job_store.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "tests/testing/temp_folder.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

class JobStoreTest : public ::testing::Test {
 protected:
  std::unique_ptr<JobStore> Open() {
    absl::StatusOr<std::unique_ptr<JobStore>> store = JobStore::Open(path_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? *std::move(store) : nullptr;
  }

  void Sql(const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
  }

  const TempFolder folder_;
  const std::string path_ = folder_ / "orchestrator.db";
};

// With a zero and bytes that are no text, as serialized messages have.
const std::string kJobBytes("\x0a\x00\xff job", 7);

TEST_F(JobStoreTest, KeepsJobsInTheirOrderAcrossLives) {
  {
    const auto store = Open();
    ASSERT_TRUE(store->Insert({"b", kJobBytes}, {}).ok());
    ASSERT_TRUE(store->Insert({"a", "second"}, {}).ok());
    ASSERT_TRUE(store->Update({"b", "changed"}).ok());
  }
  const auto records = Open()->Jobs();
  ASSERT_TRUE(records.ok());
  ASSERT_EQ(records->size(), 2u);
  EXPECT_EQ((*records)[0].job_id, "b");
  EXPECT_EQ((*records)[0].job, "changed");
  EXPECT_EQ((*records)[1].job_id, "a");
}

TEST_F(JobStoreTest, KeepsBytesAsTheyAre) {
  const auto store = Open();
  ASSERT_TRUE(store->Insert({"a", kJobBytes}, {}).ok());
  EXPECT_EQ((*store->Jobs())[0].job, kJobBytes);
}

TEST_F(JobStoreTest, FindsTheJobOfARequestAcrossLives) {
  ASSERT_TRUE(Open()->Insert({"a", "x"}, {"request-1", kJobBytes, "a"}).ok());
  const auto store = Open();
  const auto found = store->FindRequest("request-1");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->job_id, "a");
  EXPECT_EQ((*found)->fingerprint, kJobBytes);
  EXPECT_FALSE(store->FindRequest("request-2")->has_value());
}

TEST_F(JobStoreTest, ARequestIdThatIsTakenStoresNothing) {
  const auto store = Open();
  ASSERT_TRUE(store->Insert({"a", "x"}, {"request", "f", "a"}).ok());
  EXPECT_EQ(store->Insert({"b", "y"}, {"request", "f", "b"}).code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(store->Jobs()->size(), 1u);
}

TEST_F(JobStoreTest, AJobIdThatIsTakenIsRefused) {
  const auto store = Open();
  ASSERT_TRUE(store->Insert({"a", "x"}, {}).ok());
  EXPECT_EQ(store->Insert({"a", "y"}, {}).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(JobStoreTest, UpdatingAJobThatIsNotThereIsAnError) {
  const absl::Status status = Open()->Update({"a", "x"});
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status.message(), "has no job a"));
}

TEST_F(JobStoreTest, WhatWasAcknowledgedIsThereAfterAKill) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto store = JobStore::Open(path_);
    const bool stored = store.ok() && (*store)->Insert({"a", "x"}, {}).ok();
    static_cast<void>(!write(pipe_ends[1], stored ? "y" : "n", 1));
    for (;;) pause();  // Never closes the store.
  }
  char answer = 0;
  ASSERT_EQ(read(pipe_ends[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(Open()->Jobs()->size(), 1u);
}

TEST_F(JobStoreTest, ASecondProcessIsToldThatItIsInUse) {
  const auto store = Open();
  const absl::Status second = JobStore::Open(path_).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(second.message(), "another process has it open"));
}

TEST_F(JobStoreTest, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream(path_) << std::string(5000, 'x');
  const absl::Status status = JobStore::Open(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Contains(status.message(), path_));
}

TEST_F(JobStoreTest, ADamagedPageIsFound) {
  {
    const auto store = Open();
    for (int i = 0; i < 50; ++i) {
      ASSERT_TRUE(
          store->Insert({std::to_string(i), std::string(3000, 'j')}, {}).ok());
    }
  }
  std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(4096);
  file << std::string(3 * 4096, '\xff');
  file.close();
  EXPECT_EQ(JobStore::Open(path_).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(JobStoreTest, AnotherSchemaVersionIsRefused) {
  Open();
  Sql("UPDATE schema_version SET version = 7");
  const absl::Status status = JobStore::Open(path_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      Contains(status.message(), "schema version 7; this build reads 1"));
}

TEST_F(JobStoreTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(JobStore::Open(folder_ / "no/such.db").status().code(),
            absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace flywheel
