#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "services/core/exit_code.h"
#include "services/orchestrator/child_process.h"
#include "services/orchestrator/local_placement.h"
#include "services/orchestrator/log_tail.h"
#include "tests/orchestrator/running_orchestrator.h"
#include "tests/testing/text_assertions.h"
#include "tests/testing/wait_until.h"

namespace flywheel {
namespace {

using std::chrono::seconds;

constexpr Slot kRollout{.role = Role::kRollout};

// A real service process (service_process_helper) and a real server.
class ServiceProcessTest : public ::testing::Test {
 protected:
  ServiceProcessTest() {
    job_id_ = running_.orchestrator()
                  .CreateJob(RunningOrchestrator::SmallRequest())
                  ->job_id;
    EXPECT_TRUE(running_.placement().AwaitStarts(3));
    flags_ = running_.placement().OrderOf(kRollout).arguments;
  }

  ~ServiceProcessTest() override {
    if (child_.pid != 0) {
      kill(child_.pid, SIGKILL);
      ReapChild(child_);
      close(child_.pidfd);
    }
  }

  void Start(const std::string& work) {
    flags_.push_back("--work=" + work);
    child_ =
        *StartChild({.program = OwnProgramFolder() + "/service_process_helper",
                     .arguments = flags_,
                     .log_path = log_});
  }

  // The exit code; -1 for a signal or if it takes over `limit`.
  int Await(seconds limit = seconds(15)) {
    pollfd ended{.fd = child_.pidfd, .events = POLLIN};
    if (poll(&ended, 1, static_cast<int>(limit.count() * 1000)) != 1) return -1;
    const ProcessEnd end = ReapChild(child_);
    close(child_.pidfd);
    child_ = {};
    return end.signal == 0 ? end.exit_code : -1;
  }

  int ExitCodeOf(const std::string& work) {
    Start(work);
    return Await();
  }

  std::string Log() const {
    std::ostringstream text;
    text << std::ifstream(log_).rdbuf();
    return text.str();
  }
  std::string LastWords() const { return LastLogLine(log_, 0); }

  bool AwaitWork() {
    return WaitUntil([&] { return Log().find("working") != std::string::npos; },
                     seconds(15));
  }

  RunningOrchestrator running_;
  const TempFolder folder_;
  const std::string log_ = folder_ / "service.log";
  std::string job_id_;
  std::vector<std::string> flags_;
  Child child_;
};

TEST_F(ServiceProcessTest, WorkThatIsDoneExitsWithZero) {
  EXPECT_EQ(ExitCodeOf("task"), kExitDone);
  EXPECT_TRUE(Contains(Log(), "counting\n")) << "the job it was assigned";
  EXPECT_TRUE(Contains(Log(), "rollout-0 joined job " + job_id_));
}

TEST_F(ServiceProcessTest, InvalidWorkExitsWithSixtyFourAndSaysWhy) {
  EXPECT_EQ(ExitCodeOf("invalid"), kExitConfiguration);
  EXPECT_EQ(LastWords(), "no such device");
}

TEST_F(ServiceProcessTest, WorkWhosePeerIsAwayExitsWithSeventyFive) {
  EXPECT_EQ(ExitCodeOf("unavailable"), kExitTryAgain);
  EXPECT_EQ(LastWords(), "buffer is away");
}

TEST_F(ServiceProcessTest, BrokenWorkExitsWithOne) {
  EXPECT_EQ(ExitCodeOf("break"), kExitFailed);
  EXPECT_EQ(LastWords(), "broken");
}

TEST_F(ServiceProcessTest, AnExceptionIsAnError) {
  EXPECT_EQ(ExitCodeOf("throw"), kExitFailed);
  EXPECT_EQ(LastWords(), "unexpected exception: out of paper");
}

TEST_F(ServiceProcessTest, TermRequestsAStopAndInterruptsAreIgnored) {
  Start("wait");
  ASSERT_TRUE(AwaitWork());
  kill(child_.pid, SIGINT);
  kill(child_.pid, SIGTERM);
  EXPECT_EQ(Await(), kExitDone) << "SIGINT would have ended it by a signal";
}

TEST_F(ServiceProcessTest, ADrainDirectiveRequestsAStop) {
  Start("wait");
  ASSERT_TRUE(AwaitWork());
  running_.placement().HoldOnStop();
  ASSERT_TRUE(running_.orchestrator().CancelJob(job_id_).ok());
  EXPECT_EQ(Await(), kExitDone);
}

TEST_F(ServiceProcessTest, AFencedServiceExitsWithSeventyFive) {
  Start("wait");
  ASSERT_TRUE(AwaitWork());
  running_.placement().End(kRollout, {.signal = 9});
  EXPECT_EQ(Await(), kExitTryAgain);
  EXPECT_TRUE(Contains(LastWords(), "fenced"));
}

TEST_F(ServiceProcessTest, AServiceStopsWhenItsOrchestratorIsGone) {
  Start("wait");
  ASSERT_TRUE(AwaitWork());
  running_.StopServer();
  EXPECT_EQ(Await(), kExitTryAgain);
  EXPECT_EQ(LastWords(), "the orchestrator is gone");
  EXPECT_FALSE(std::filesystem::exists(running_.socket_folder()))
      << "the last service removes the sockets of a launcher that is gone";
}

TEST_F(ServiceProcessTest, WrongFlagsExitWithSixtyFourAndAreNamed) {
  flags_.push_back("--incarnation=yesterday");
  EXPECT_EQ(ExitCodeOf("task"), kExitConfiguration);
  EXPECT_TRUE(Contains(LastWords(), "incarnation"));
}

TEST_F(ServiceProcessTest, AMissingFlagIsNamed) {
  flags_ = {"--orchestrator=unix:/x"};
  EXPECT_EQ(ExitCodeOf("task"), kExitConfiguration);
  EXPECT_TRUE(Contains(LastWords(), "--job_id is required"));
}

TEST_F(ServiceProcessTest, AnUnknownFlagIsNamed) {
  flags_.push_back("--colour=red");
  EXPECT_EQ(ExitCodeOf("task"), kExitConfiguration);
  EXPECT_TRUE(Contains(LastWords(), "--colour=red"));
}

}  // namespace
}  // namespace flywheel
