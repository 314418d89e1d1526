#include "services/wire/unix_listener.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/testing/temp_folder.h"

namespace flywheel {
namespace {

using std::filesystem::exists;

absl::Status ListenStatus(const std::string& path) {
  return UnixListener::Listen(path).status();
}

// Leaves a socket file behind, as a killed process does.
void LeaveStaleFile(const std::string& path) {
  const std::string elsewhere = path + ".moved";
  absl::StatusOr<UnixListener> listener = UnixListener::Listen(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  // Out of reach of the destructor.
  std::filesystem::rename(path, elsewhere);
  listener = absl::CancelledError();
  std::filesystem::rename(elsewhere, path);
}

TEST(UnixListenerTest, UnlinksItsFile) {
  const TempFolder folder;
  {
    const absl::StatusOr<UnixListener> listener =
        UnixListener::Listen(folder / "socket");
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_TRUE(exists(folder / "socket"));
  }
  EXPECT_FALSE(exists(folder / "socket"));
}

TEST(UnixListenerTest, ReplacesTheFileOfADeadProcess) {
  const TempFolder folder;
  LeaveStaleFile(folder / "socket");
  ASSERT_TRUE(exists(folder / "socket"));
  const absl::StatusOr<UnixListener> listener =
      UnixListener::Listen(folder / "socket");
  EXPECT_TRUE(listener.ok()) << listener.status();
}

TEST(UnixListenerTest, RefusesAFileThatALiveProcessListensOn) {
  const TempFolder folder;
  const absl::StatusOr<UnixListener> first =
      UnixListener::Listen(folder / "socket");
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status status = ListenStatus(folder / "socket");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "live process",
                      status.ToString());
  EXPECT_TRUE(exists(folder / "socket"));
}

TEST(UnixListenerTest, RefusesAndKeepsAFileThatIsNoSocket) {
  const TempFolder folder;
  std::ofstream(folder / "notes") << "mine";
  const absl::Status status = ListenStatus(folder / "notes");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "no socket", status.ToString());
  EXPECT_TRUE(exists(folder / "notes"));
}

TEST(UnixListenerTest, RefusesPathsThatCannotWork) {
  const TempFolder folder;
  EXPECT_TRUE(absl::IsInvalidArgument(ListenStatus("")));
  EXPECT_TRUE(absl::IsInvalidArgument(ListenStatus(folder / "none/socket")));
  const absl::Status status = ListenStatus(folder / std::string(108, 'x'));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "1 to 107 bytes",
                      status.ToString());
}

TEST(UnixListenerTest, LeavesTheFileOfASuccessor) {
  const TempFolder folder;
  absl::StatusOr<UnixListener> first = UnixListener::Listen(folder / "socket");
  ASSERT_TRUE(first.ok()) << first.status();
  std::filesystem::remove(folder / "socket");
  const absl::StatusOr<UnixListener> second =
      UnixListener::Listen(folder / "socket");
  ASSERT_TRUE(second.ok()) << second.status();
  first = absl::CancelledError();
  EXPECT_TRUE(exists(folder / "socket"));
}

}  // namespace
}  // namespace flywheel
