#include "services/wire/socket_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "services/wire/unix_listener.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

namespace fs = std::filesystem;

class SocketFolderTest : public ::testing::Test {
 protected:
  SocketFolderTest() { setenv("XDG_RUNTIME_DIR", place_.c_str(), 1); }
  ~SocketFolderTest() override { unsetenv("XDG_RUNTIME_DIR"); }

  // The number of a process that has ended.
  static pid_t DeadPid() {
    const pid_t pid = fork();
    if (pid == 0) _exit(0);
    waitpid(pid, nullptr, 0);
    return pid;
  }

  std::string FolderOf(pid_t pid) {
    const std::string path =
        folder_ / ("flywheel-" + std::to_string(pid) + "-abcdef");
    fs::create_directory(path);
    return path;
  }

  // A socket file whose listener died without unlinking it.
  static void LeaveDeadSocket(const std::string& path) {
    const pid_t pid = fork();
    if (pid == 0) {
      auto listener = UnixListener::Listen(path);
      _exit(listener.ok() ? 0 : 1);  // Without destructors.
    }
    int status = 0;
    waitpid(pid, &status, 0);
    ASSERT_EQ(status, 0);
  }

  const TempFolder folder_;
  const std::string place_ = folder_ / "";
};

TEST_F(SocketFolderTest, IsPrivateNamedAfterItsLauncherAndRemovedAtTheEnd) {
  std::string path;
  {
    const auto folder = SocketFolder::Create();
    ASSERT_TRUE(folder.ok()) << folder.status();
    path = folder->path();
    EXPECT_TRUE(Contains(path, "/flywheel-" + std::to_string(getpid()) + "-"));
    struct stat found {};
    ASSERT_EQ(stat(path.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777, 0700u);
    EXPECT_EQ(folder->Path("a.sock"), path + "/a.sock");
    LeaveDeadSocket(folder->Path("a.sock"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(SocketFolderTest, CreatingRemovesWhatDeadLaunchersLeft) {
  const std::string dead = FolderOf(DeadPid());
  LeaveDeadSocket(dead + "/orchestrator.sock");
  const std::string alive = FolderOf(getpid());
  const std::string stranger = folder_ / "flywheel-notes";
  fs::create_directory(stranger);
  ASSERT_TRUE(SocketFolder::Create().ok());
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(stranger));
}

TEST_F(SocketFolderTest, ASocketThatSomebodyListensOnStays) {
  const std::string path = FolderOf(DeadPid());
  LeaveDeadSocket(path + "/dead.sock");
  {
    const auto listener = UnixListener::Listen(path + "/alive.sock");
    ASSERT_TRUE(listener.ok());
    RemoveDeadSockets(path);
    EXPECT_TRUE(fs::exists(path + "/alive.sock"));
    EXPECT_FALSE(fs::exists(path + "/dead.sock"));
    EXPECT_TRUE(SomebodyListens(path + "/alive.sock"));
  }
  RemoveDeadSockets(path);
  EXPECT_FALSE(fs::exists(path)) << "the last one removes the folder";
}

TEST_F(SocketFolderTest, FilesThatAreNoSocketsStay) {
  const std::string path = FolderOf(DeadPid());
  std::ofstream(path + "/notes.txt") << "mine";
  RemoveDeadSockets(path);
  EXPECT_TRUE(fs::exists(path + "/notes.txt"));
}

TEST_F(SocketFolderTest, FoldersOfAnotherNameAreLeftAlone) {
  for (const char* const name :
       {"other", "flywheel-", "flywheel-x-y", "flywheel-1", "flywheel--1-x"}) {
    const std::string path = folder_ / name;
    fs::create_directory(path);
    RemoveDeadSockets(path);
    EXPECT_TRUE(fs::exists(path)) << name;
  }
}

TEST_F(SocketFolderTest, APlaceWithTooLongAPathIsPassedOver) {
  const std::string place = folder_ / std::string(100, 'x');
  fs::create_directory(place);
  setenv("XDG_RUNTIME_DIR", place.c_str(), 1);
  const auto folder = SocketFolder::Create();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(folder->path().substr(0, 5), "/tmp/");
}

}  // namespace
}  // namespace flywheel
