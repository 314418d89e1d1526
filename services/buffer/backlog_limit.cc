#include "services/buffer/backlog_limit.h"

#include <algorithm>

namespace flywheel {

BacklogLimit::BacklogLimit(int64_t batch_credits, int64_t max_policy_lag)
    : min_(batch_credits),
      max_((max_policy_lag + 1) * batch_credits),
      change_(std::max<int64_t>(1, batch_credits / 4)),
      // One batch in training and one being collected.
      limit_(std::min(max_, 2 * batch_credits)) {}

void BacklogLimit::ObserveTrainStep(double waited_share) {
  ++steps_;
  waited_steps_ += std::clamp(waited_share, 0.0, 1.0);
  // No need to see the end of a window that is lost already.
  if (waited_steps_ >= kWaitedShareMax * kWindow) {
    if (refused_) Raise();
    BeginWindow();
  } else if (steps_ == kWindow) {
    TryLower();
    BeginWindow();
  }
}

void BacklogLimit::Raise() {
  too_small_ = limit_;
  windows_since_too_small_ = 0;
  limit_ = std::min(max_, limit_ + change_);
}

void BacklogLimit::TryLower() {
  if (++windows_since_too_small_ >= kRetryWindows) too_small_ = 0;
  const int64_t lower = std::max(min_, limit_ - change_);
  if (lower > too_small_) limit_ = lower;
}

void BacklogLimit::BeginWindow() {
  steps_ = 0;
  waited_steps_ = 0;
  refused_ = false;
}

}  // namespace flywheel
