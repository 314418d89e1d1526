#include "services/orchestrator/local_placement.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <future>
#include <sstream>

#include "tests/testing/temp_folder.h"
#include "tests/testing/text_assertions.h"
#include "tests/testing/wait_until.h"

namespace flywheel {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string FileText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Whether the process runs: a zombie, which nobody has reaped yet, does not.
bool Runs(pid_t pid) {
  const std::string stat = FileText("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end != std::string::npos && stat[name_end + 2] != 'Z';
}

// Shell scripts as services.
class LocalPlacementTest : public ::testing::Test {
 protected:
  std::future<ProcessEnd> Run(const std::string& script,
                              const std::string& program = "sh") {
    auto ended = std::make_shared<std::promise<ProcessEnd>>();
    status_ =
        placement_->Start({.process = process_,
                           .program = program,
                           .arguments = {"-c", script},
                           .environment = {"FLYWHEEL_TEST=of the order"},
                           .log_path = log_},
                          [ended](const PlacedProcess&, const ProcessEnd& end) {
                            ended->set_value(end);
                          });
    return ended->get_future();
  }

  // The process id that a script wrote with `echo $$`.
  pid_t WrittenPid() {
    pid_t pid = 0;
    EXPECT_TRUE(WaitUntil(
        [&] {
          const std::string text = FileText(log_);
          if (text.empty() || text.back() != '\n') return false;
          pid = std::atoi(text.c_str());
          return true;
        },
        seconds(10)));
    return pid;
  }

  static ProcessEnd Await(std::future<ProcessEnd>& end) {
    if (end.wait_for(seconds(10)) != std::future_status::ready) {
      ADD_FAILURE() << "no end within 10 s";
      return {};
    }
    return end.get();
  }

  const TempFolder folder_;
  const std::string log_ = folder_ / "service.log";
  const PlacedProcess process_{.job_id = "job", .incarnation = 7};
  std::unique_ptr<LocalPlacement> placement_ = std::make_unique<LocalPlacement>(
      LocalPlacement::Options{.program_folder = "/bin"});
  absl::Status status_;
};

TEST_F(LocalPlacementTest, TellsExitCodesAndTheLastLineOfTheLog) {
  auto end =
      Run("echo out; echo 2026-01-31T12:00:00.000 [error] why >&2; exit 3");
  const ProcessEnd found = Await(end);
  EXPECT_EQ(found.exit_code, 3);
  EXPECT_EQ(found.signal, 0);
  EXPECT_EQ(found.last_log_line, "why");
  EXPECT_TRUE(Contains(FileText(log_), "out\n"));
}

TEST_F(LocalPlacementTest, LogsAreAppendedAndHintsAreOfThisLifeOnly) {
  auto first = Run("echo first life");
  EXPECT_EQ(Await(first).last_log_line, "first life");
  auto second = Run("exit 0");
  EXPECT_EQ(Await(second).last_log_line, "");
  EXPECT_EQ(FileText(log_), "first life\n");
}

TEST_F(LocalPlacementTest, NoticesAKillAtOnce) {
  auto end = Run("echo $$; exec sleep 100");
  const pid_t pid = WrittenPid();
  const auto killed = std::chrono::steady_clock::now();
  ASSERT_EQ(kill(pid, SIGKILL), 0);
  EXPECT_EQ(Await(end).signal, SIGKILL);
  // Milliseconds, but for a machine that is very busy.
  EXPECT_LT(std::chrono::steady_clock::now() - killed, seconds(3));
}

TEST_F(LocalPlacementTest, StopIsTermAndKillIsKill) {
  auto stopped = Run("exec sleep 100");
  placement_->Stop(process_);
  EXPECT_EQ(Await(stopped).signal, SIGTERM);
  auto killed = Run("trap '' TERM; echo $$; while :; do sleep 1; done");
  WrittenPid();
  placement_->Stop(process_);
  EXPECT_EQ(killed.wait_for(milliseconds(100)), std::future_status::timeout);
  placement_->Kill(process_);
  EXPECT_EQ(Await(killed).signal, SIGKILL);
}

TEST_F(LocalPlacementTest, ChildrenOfAServiceDieWithIt) {
  auto end = Run("sleep 100 & echo $!; wait");
  const pid_t grandchild = WrittenPid();
  placement_->Kill(process_);
  Await(end);
  EXPECT_TRUE(WaitUntil([&] { return !Runs(grandchild); }, seconds(5)));
}

TEST_F(LocalPlacementTest, SignalsToAProcessThatIsGoneDoNothing) {
  auto end = Run("exit 0");
  Await(end);
  placement_->Stop(process_);
  placement_->Kill(process_);
  auto again = Run("exit 4");
  EXPECT_EQ(Await(again).exit_code, 4);
}

TEST_F(LocalPlacementTest, ASignalForAnotherIncarnationDoesNothing) {
  auto end = Run("exec sleep 100");
  PlacedProcess other = process_;
  ++other.incarnation;
  placement_->Kill(other);
  EXPECT_EQ(end.wait_for(milliseconds(100)), std::future_status::timeout);
}

TEST_F(LocalPlacementTest, AMissingProgramIsNotFound) {
  Run("", "flywheel-no-such-program");
  EXPECT_EQ(status_.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(Contains(status_.message(),
                       "cannot start /bin/flywheel-no-such-program: No such "
                       "file or directory"));
}

TEST_F(LocalPlacementTest, ALogThatCannotBeWrittenIsNamed) {
  const absl::Status status = placement_->Start(
      {.process = process_, .program = "sh", .log_path = folder_ / "no/x.log"},
      [](const PlacedProcess&, const ProcessEnd&) {});
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(Contains(status.message(), "cannot write the log"));
}

TEST_F(LocalPlacementTest, ServicesStartWithCleanSignalsAndItsEnvironment) {
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  placement_ = std::make_unique<LocalPlacement>(
      LocalPlacement::Options{.program_folder = "/bin"});
  auto end =
      Run("grep SigBlk /proc/self/status; echo $FLYWHEEL_TEST; "
          "echo launcher $FLYWHEEL_LAUNCHER_PID; cat; ls -l /proc/self/fd");
  Await(end);
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  const std::string log = FileText(log_);
  EXPECT_TRUE(Contains(log, "SigBlk:\t0000000000000000"));
  EXPECT_TRUE(Contains(log, "of the order\n"));
  EXPECT_TRUE(Contains(log, "launcher " + std::to_string(getpid())));
}

TEST_F(LocalPlacementTest, OnlyTheInheritedDescriptorIsTheChilds) {
  const int secret = open("/dev/zero", O_RDONLY);  // Without O_CLOEXEC.
  const int shared = open("/dev/full", O_RDONLY | O_CLOEXEC);
  placement_ = std::make_unique<LocalPlacement>(LocalPlacement::Options{
      .program_folder = "/bin", .inherited_fd = shared});
  auto end = Run("ls -l /proc/$$/fd");
  Await(end);
  EXPECT_TRUE(Contains(FileText(log_), "/dev/full"));
  EXPECT_FALSE(Contains(FileText(log_), "/dev/zero"));
  close(secret);
  close(shared);
}

TEST_F(LocalPlacementTest, TheDestructorLeavesNoProcess) {
  auto end = Run("trap '' TERM; echo $$; while :; do sleep 1; done");
  const pid_t pid = WrittenPid();
  placement_.reset();
  EXPECT_FALSE(Runs(pid));
  EXPECT_THROW(end.get(), std::future_error)
      << "the callback was dropped, not called";
}

TEST_F(LocalPlacementTest, ChildrenDieWhenTheirLauncherIsKilled) {
  const std::string helper = OwnProgramFolder() + "/placement_helper";
  const pid_t launcher = fork();
  if (launcher == 0) {
    execl(helper.c_str(), helper.c_str(), log_.c_str(), nullptr);
    _exit(127);
  }
  const pid_t child = WrittenPid();
  ASSERT_TRUE(Runs(child));
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  EXPECT_TRUE(WaitUntil([&] { return !Runs(child); }, seconds(5)));
}

TEST_F(LocalPlacementTest, ManyProcessesComeAndGo) {
  std::vector<std::future<ProcessEnd>> ends;
  for (int i = 0; i < 30; ++i) {
    auto ended = std::make_shared<std::promise<ProcessEnd>>();
    ends.push_back(ended->get_future());
    ASSERT_TRUE(placement_
                    ->Start({.process = {.job_id = "job",
                                         .slot = {.index = i},
                                         .incarnation = 1},
                             .program = "sh",
                             .arguments = {"-c", "exit " + std::to_string(i)},
                             .log_path = log_},
                            [ended](const auto&, const ProcessEnd& end) {
                              ended->set_value(end);
                            })
                    .ok());
  }
  for (int i = 0; i < 30; ++i) EXPECT_EQ(Await(ends[i]).exit_code, i);
}

}  // namespace
}  // namespace flywheel
