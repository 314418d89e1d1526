#include "cli/interrupts.h"

#include <unistd.h>

#include <ctime>
#include <utility>

#include "cli/exit_code.h"
#include "services/core/clock.h"

namespace flywheel {
namespace {

constexpr timespec kPoll = {.tv_sec = 0, .tv_nsec = 50'000'000};

}  // namespace

Interrupts::Interrupts(absl::Duration stop_limit) : stop_limit_(stop_limit) {
  sigemptyset(&signals_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    sigaddset(&signals_, number);
  }
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
}

void Interrupts::Attend(std::function<void()> stop,
                        std::function<void()> kill) {
  const MutexLock lock(mutex_);
  stop_ = std::move(stop);
  kill_ = std::move(kill);
  if (asked_ != Asked::kNothing) stop_();
  if (asked_ == Asked::kKill) kill_();
}

void Interrupts::Leave() {
  const MutexLock lock(mutex_);
  stop_ = nullptr;
  kill_ = nullptr;
}

void Interrupts::Run(std::stop_token stop) {
  const MonotonicClock clock;
  absl::Time kill_at = absl::InfiniteFuture();
  int count = 0;
  while (!stop.stop_requested()) {
    if (const int number = sigtimedwait(&signals_, nullptr, &kPoll);
        number > 0) {
      ++count;
      if (count == 1) first_signal_ = number;
      if (count == 1) kill_at = clock.Now() + stop_limit_;
    }
    if (count >= 3) _exit(static_cast<int>(ExitCode::kInterrupted));
    if (count >= 2 || clock.Now() >= kill_at) {
      Escalate(Asked::kKill);
    } else if (count == 1) {
      Escalate(Asked::kStop);
    }
  }
}

void Interrupts::Escalate(Asked to) {
  const MutexLock lock(mutex_);
  if (asked_ >= to) return;
  asked_ = to;
  if (to == Asked::kStop && stop_) stop_();
  if (to == Asked::kKill && kill_) kill_();
}

}  // namespace flywheel
