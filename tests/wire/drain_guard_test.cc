#include "services/wire/drain_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>

#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace flywheel {
namespace {

// Waits until `token` is told to stop; false after 10 s.
bool AwaitStop(std::stop_token token) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, token, std::chrono::seconds(10), [] { return false; });
  return token.stop_requested();
}

// In a process of its own: it ends, or changes signals for good.
class DrainGuardDeathTest : public ::testing::Test {
 protected:
  static void PrepareProcess() {
    BlockServiceSignals();
    spdlog::set_default_logger(spdlog::stderr_logger_mt("test"));
  }
};

TEST_F(DrainGuardDeathTest, TermBecomesAStopRequest) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::stop_source stop;
        {
          const DrainGuard guard(stop, absl::Seconds(10));
          kill(getpid(), SIGTERM);
          if (!AwaitStop(stop.get_token())) _exit(2);
        }
        _exit(0);
      },
      testing::ExitedWithCode(0), "SIGTERM: stopping");
}

TEST_F(DrainGuardDeathTest, AProcessThatDoesNotStopIsEnded) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::stop_source stop;
        const DrainGuard guard(stop, absl::Milliseconds(50));
        stop.request_stop();
        for (;;) pause();
      },
      testing::ExitedWithCode(1), "did not stop within 50ms");
}

TEST_F(DrainGuardDeathTest, AProcessThatStopsInTimeIsLeftAlone) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::stop_source stop;
        {
          const DrainGuard guard(stop, absl::Milliseconds(50));
          stop.request_stop();
        }
        usleep(100'000);  // Longer than the limit.
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(DrainGuardDeathTest, InterruptsAreIgnored) {
  EXPECT_EXIT(
      {
        PrepareProcess();
        std::stop_source stop;
        const DrainGuard guard(stop, absl::Seconds(10));
        kill(getpid(), SIGINT);
        _exit(stop.stop_requested() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace flywheel
