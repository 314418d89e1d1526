#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <thread>

#include "absl/time/time.h"

namespace flywheel {

// Turns SIGTERM into a stop request, and ends a process that does not stop.
//
// SIGTERM must be blocked in every thread (BlockServiceSignals() first thing in
// main). From the stop request, whoever made it, the process has `drain_limit`
// to destroy this object; then it is ended with exit code 1 by _exit().
class DrainGuard {
 public:
  DrainGuard(std::stop_source stop, absl::Duration drain_limit);
  ~DrainGuard();
  DrainGuard(const DrainGuard&) = delete;
  DrainGuard& operator=(const DrainGuard&) = delete;

 private:
  void Run();

  // Constant after construction.
  std::stop_source stop_;
  const absl::Duration drain_limit_;
  int terminated_ = -1;  // A signalfd: SIGTERM arrived.
  int stopping_ = -1;    // An eventfd: a stop was requested.
  int finished_ = -1;    // An eventfd: this object is being destroyed.

  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
  std::thread thread_;  // Waits on the three.
};

// Blocks SIGTERM in this thread and those it starts, and ignores SIGINT and
// SIGPIPE: Ctrl-C on a terminal reaches every process of the launcher's group,
// but it is the launcher that stops its services, in order.
void BlockServiceSignals();

}  // namespace flywheel
