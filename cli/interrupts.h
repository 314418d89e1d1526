#pragma once

#include <signal.h>

#include <atomic>
#include <functional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "services/core/mutex.h"

namespace flywheel {

// Turns SIGINT, SIGTERM and SIGHUP into calls: the first signal asks to stop in
// order; a second one, or `stop_limit` without success, asks to kill; a third
// ends the process on the spot.
//
// Construct it first thing, before any other thread: it blocks the signals in
// the calling thread, and every thread started later inherits that. No handler
// ever runs. The calls come from a thread of its own. Thread-safe.
class Interrupts {
 public:
  explicit Interrupts(absl::Duration stop_limit = absl::Seconds(8.5));
  ~Interrupts() = default;  // Joins; the signals stay blocked.

  // From now on signals call these. If one came before, `stop` is called at
  // once. REQUIRES: nobody attends.
  void Attend(std::function<void()> stop, std::function<void()> kill);

  // Waits for a call that is being made; then no more are.
  void Leave();

  // The first signal that came; 0: none.
  int signal() const { return first_signal_; }

 private:
  enum class Asked { kNothing, kStop, kKill };

  void Run(std::stop_token stop);
  void Escalate(Asked to);

  // Constant after construction.
  const absl::Duration stop_limit_;
  sigset_t signals_;

  std::atomic<int> first_signal_ = 0;

  // Held during the calls, so that Leave() waits for them: they belong to
  // whoever attends, and lock nothing of ours.
  Mutex mutex_;
  Asked asked_ ABSL_GUARDED_BY(mutex_) = Asked::kNothing;
  std::function<void()> stop_ ABSL_GUARDED_BY(mutex_);
  std::function<void()> kill_ ABSL_GUARDED_BY(mutex_);

  std::jthread thread_;  // Last member: started last, joined first.
};

}  // namespace flywheel
