#pragma once

#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

#include "sim/environment_pool.h"

namespace flywheel {

// Results on their way back from all stepping threads to the one thread that
// receives. Needs no capacity: see RequestQueue.
//
// Thread-safe, with a single receiver: it is woken once, when what it waits for
// is complete, and not by every result.
class ResultQueue {
 public:
  void Push(EnvironmentResult result) {
    bool complete = false;
    {
      const std::lock_guard lock(mutex_);
      results_.push_back(std::move(result));
      complete = results_.size() >= wanted_;
    }
    if (complete) changed_.notify_one();
  }

  // Waits for `count` results, then appends all there are to `results`.
  void PopAll(std::size_t count, std::vector<EnvironmentResult>& results) {
    std::unique_lock lock(mutex_);
    wanted_ = count;
    changed_.wait(lock, [&] { return results_.size() >= count; });
    std::move(results_.begin(), results_.end(), std::back_inserter(results));
    results_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<EnvironmentResult> results_;
  std::size_t wanted_ = 0;
};

}  // namespace flywheel
