#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"

namespace flywheel {

// std::mutex with Clang thread-safety annotations, so that both checkers work:
// -Wthread-safety needs annotations, which std::mutex lacks, and
// ThreadSanitizer needs instrumented locks, which a packaged absl::Mutex lacks.
class ABSL_LOCKABLE Mutex {
 public:
  void lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

// Holds `mutex` from construction to destruction.
class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Lets threads wait until state guarded by a Mutex changes. Always wait in a
// loop that tests the state.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    changed_.wait(mutex);
  }
  // Waits at most `timeout`, which must be finite.
  void WaitFor(Mutex& mutex, absl::Duration timeout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    changed_.wait_for(mutex, absl::ToChronoNanoseconds(timeout));
  }
  void NotifyAll() { changed_.notify_all(); }

 private:
  std::condition_variable_any changed_;
};

}  // namespace flywheel
