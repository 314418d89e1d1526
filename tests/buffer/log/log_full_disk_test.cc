// A disk without room: an error that says so, readers served, and the next
// append succeeds once there is room again.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

using ::testing::HasSubstr;

// Appends until that fails; everything is still served then.
absl::Status FillUp(RecordLog& log, std::vector<EntryId>& ids) {
  while (true) {
    const absl::StatusOr<EntryId> id =
        AppendSeeded(log, ids.size() + 1, 10'000);
    if (!id.ok()) {
      EXPECT_EQ(SeedsById(log).size(), ids.size());
      return id.status();
    }
    ids.push_back(*id);
  }
}

TEST(LogFullDiskTest, TheLimitIsNamedAndDeadEntriesMakeRoom) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.segment_bytes = 64 << 10;
  options.disk_bytes_max = 1 << 20;
  const auto log = MustOpen(options);
  std::vector<EntryId> ids;
  const absl::Status full = FillUp(*log, ids);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("has reached disk_bytes_max: of 1048576 bytes"));
  EXPECT_LE(log->Use().disk_bytes, options.disk_bytes_max);

  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 3 != 0) log->MarkDead(ids[i]);
  }
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_TRUE(AppendSeeded(*log, seed, 10'000).ok());
  }
  EXPECT_LE(log->Use().disk_bytes, options.disk_bytes_max);
}

TEST(LogFullDiskTest, WhatReadersHoldCountsAgainstTheLimit) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.segment_bytes = 64 << 10;
  options.disk_bytes_max = 1 << 20;
  const auto log = MustOpen(options);
  std::vector<EntryId> ids;
  FillUp(*log, ids).IgnoreError();
  std::vector<LogEntry> held;
  for (const EntryId id : ids) held.push_back(*log->Read(id));
  log->MarkDead(ids);
  EXPECT_TRUE(
      absl::IsResourceExhausted(AppendSeeded(*log, 1, 10'000).status()));
  held.clear();
  EXPECT_TRUE(AppendSeeded(*log, 1, 10'000).ok());
}

// A file beyond this limit would bring a signal; it must be an error instead.
TEST(LogFullDiskTest, ALimitOnFileSizesIsAnError) {
  TempFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  RecordLogOptions options = SmallLog(folder / "log");
  options.segment_bytes = 64 << 10;
  const auto log = MustOpen(options);
  const EntryId id = *AppendSeeded(*log, 1, 1000);
  rlimit small = before;
  small.rlim_cur = 128 << 10;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const absl::Status refused = AppendSeeded(*log, 2, 200'000).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(AppendSeeded(*log, 3, 1000).ok());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_TRUE(AppendSeeded(*log, 2, 200'000).ok());
  EXPECT_EQ(BytesRead(*log, id), PayloadOf(1, 1000));
}

bool MayMount() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    const uint64_t capabilities = std::stoull(line.substr(7), nullptr, 16);
    return (capabilities >> 21 & 1) != 0;  // CAP_SYS_ADMIN
  }
  return false;
}

class MountedTmpfs {
 public:
  explicit MountedTmpfs(const std::string& path) : path_(path) {
    std::filesystem::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  ~MountedTmpfs() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  MountedTmpfs(const MountedTmpfs&) = delete;
  MountedTmpfs& operator=(const MountedTmpfs&) = delete;
  bool mounted() const { return mounted_; }

 private:
  const std::string path_;
  bool mounted_ = false;
};

TEST(LogFullDiskTest, AFullFileSystemIsAnErrorAndNoSignal) {
  if (!MayMount()) {
    GTEST_SKIP() << "mounting a small tmpfs needs CAP_SYS_ADMIN; the other "
                    "tests of this file stand in for a full disk";
  }
  TempFolder folder;
  const MountedTmpfs tmpfs(folder / "small");
  ASSERT_TRUE(tmpfs.mounted());
  RecordLogOptions options = SmallLog(folder / "small/log");
  options.segment_bytes = 256 << 10;
  auto log = MustOpen(options);
  std::vector<EntryId> ids;
  const absl::Status full = FillUp(*log, ids);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_GT(ids.size(), 100u);

  // Somebody else takes the rest: not even a page is left.
  {
    std::ofstream hog(folder / "small/hog", std::ios::binary);
    const std::string page(4096, 'x');
    while (hog.write(page.data(), 4096).flush()) {
    }
  }
  EXPECT_TRUE(
      absl::IsResourceExhausted(AppendSeeded(*log, 1, 100'000).status()));
  EXPECT_EQ(SeedsById(*log).size(), ids.size());
  log.reset();
  log = MustOpen(options);
  EXPECT_EQ(SeedsById(*log).size(), ids.size());

  std::filesystem::remove(folder / "small/hog");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 4 != 0) log->MarkDead(ids[i]);
  }
  absl::StatusOr<bool> compacted = true;
  while (compacted.ok() && *compacted) compacted = log->Compact();
  EXPECT_TRUE(compacted.ok()) << compacted.status();
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const absl::StatusOr<EntryId> id = AppendSeeded(*log, seed, 10'000);
    EXPECT_TRUE(id.ok()) << id.status();
  }
}

}  // namespace
}  // namespace flywheel
