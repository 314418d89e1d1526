#include "services/wire/drain_guard.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "spdlog/spdlog.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

sigset_t TerminateSignal() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  return signals;
}

void Raise(int event) {
  const uint64_t one = 1;
  // Fails only if the counter would overflow: then it is raised already.
  static_cast<void>(!write(event, &one, sizeof(one)));
}

}  // namespace

void BlockServiceSignals() {
  const sigset_t signals = TerminateSignal();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

DrainGuard::DrainGuard(std::stop_source stop, absl::Duration drain_limit)
    : stop_(std::move(stop)), drain_limit_(drain_limit) {
  const sigset_t signals = TerminateSignal();
  terminated_ = signalfd(-1, &signals, SFD_CLOEXEC);
  stopping_ = eventfd(0, EFD_CLOEXEC);
  finished_ = eventfd(0, EFD_CLOEXEC);
  on_stop_.emplace(stop_.get_token(), [this] { Raise(stopping_); });
  thread_ = std::thread([this] { Run(); });
}

DrainGuard::~DrainGuard() {
  Raise(finished_);
  thread_.join();
  on_stop_.reset();
  for (const int descriptor : {terminated_, stopping_, finished_}) {
    close(descriptor);
  }
}

void DrainGuard::Run() {
  std::array<pollfd, 3> events = {{{finished_, POLLIN, 0},
                                   {stopping_, POLLIN, 0},
                                   {terminated_, POLLIN, 0}}};
  SteadyClock::time_point stopped;
  int wait_ms = -1;
  for (;;) {
    if (poll(events.data(), events.size(), wait_ms) < 0) continue;
    if (events[0].revents != 0) return;
    if (events[2].revents != 0) {
      events[2].fd = -1;  // Once is enough.
      spdlog::info("SIGTERM: stopping");
      stop_.request_stop();
    }
    if (events[1].revents != 0) {
      events[1].fd = -1;
      stopped = SteadyClock::now();
    }
    if (events[1].fd >= 0) continue;
    const absl::Duration left =
        drain_limit_ - absl::FromChrono(SteadyClock::now() - stopped);
    if (left <= absl::ZeroDuration()) {
      spdlog::error("did not stop within {}: giving up",
                    absl::FormatDuration(drain_limit_));
      spdlog::default_logger()->flush();
      _exit(1);
    }
    wait_ms = static_cast<int>(absl::ToInt64Milliseconds(left)) + 1;
  }
}

}  // namespace flywheel
