#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "sim/environment_pool.h"

namespace flywheel {

// Requests on their way to one stepping thread, first in, first out. Needs no
// capacity: an environment has at most one request outstanding.
//
// Thread-safe.
class RequestQueue {
 public:
  void Push(EnvironmentRequest request) {
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(std::move(request));
    }
    changed_.notify_one();
  }

  // Pop() returns false from now on, whatever is still queued.
  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_one();
  }

  // Waits for a request; false once closed.
  [[nodiscard]] bool Pop(EnvironmentRequest& request) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !requests_.empty(); });
    if (closed_) return false;
    request = std::move(requests_.front());
    requests_.pop_front();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<EnvironmentRequest> requests_;
  bool closed_ = false;
};

}  // namespace flywheel
