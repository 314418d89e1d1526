#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "services/core/mutex.h"
#include "services/orchestrator/placement.h"

namespace flywheel {

// Processes that only a test ends. Thread-safe.
class FakePlacement final : public Placement {
 public:
  absl::Status Start(const ProcessOrder& order, OnEnd on_end) override {
    MutexLock lock(mutex_);
    if (!start_status_.ok()) return start_status_;
    ++starts_;
    running_[order.process.slot] = {order, std::move(on_end)};
    changed_.NotifyAll();
    return absl::OkStatus();
  }

  // A service that stops in order, unless it is held.
  void Stop(const PlacedProcess& process) override {
    if (!IsHolding()) End(process.slot, {});
  }
  void Kill(const PlacedProcess& process) override {
    End(process.slot, {.signal = 9});
  }

  void FailStartsWith(const absl::Status& status) {
    MutexLock lock(mutex_);
    start_status_ = status;
  }

  // From now on processes go on although they are asked to stop.
  void HoldOnStop() {
    MutexLock lock(mutex_);
    holding_ = true;
  }

  // Ends the process in `slot`, if there is one.
  void End(const Slot& slot, const ProcessEnd& end) {
    std::pair<ProcessOrder, OnEnd> ended;
    {
      MutexLock lock(mutex_);
      const auto found = running_.find(slot);
      if (found == running_.end()) return;
      ended = std::move(found->second);
      running_.erase(found);
    }
    ended.second(ended.first.process, end);
  }

  // Waits until so many processes were started in all; false after 10 s.
  bool AwaitStarts(int count) {
    MutexLock lock(mutex_);
    for (int waits = 0; starts_ < count && waits < 100; ++waits) {
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return starts_ >= count;
  }

  // What was ordered for the process in `slot`, which must run.
  ProcessOrder OrderOf(const Slot& slot) {
    MutexLock lock(mutex_);
    return running_.at(slot).first;
  }
  Member MemberOf(const Slot& slot) {
    return {.role = slot.role,
            .index = slot.index,
            .incarnation = OrderOf(slot).process.incarnation};
  }

 private:
  bool IsHolding() {
    MutexLock lock(mutex_);
    return holding_;
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<Slot, std::pair<ProcessOrder, OnEnd>> running_
      ABSL_GUARDED_BY(mutex_);
  absl::Status start_status_ ABSL_GUARDED_BY(mutex_);
  bool holding_ ABSL_GUARDED_BY(mutex_) = false;
  int starts_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flywheel
