#pragma once

#include <cstdint>

namespace flywheel {

// How many credits may be out, ready and in training together: the smallest
// number with which the learner does not wait for data. So a fast simulator
// does not make data old for nothing.
//
// It looks for that number between one batch and (max_policy_lag + 1) batches.
// Over windows of 50 train steps: where the learner waited for 1 % of the time
// or more, the limit was too small and rises; after a whole window below that
// it tries a smaller one. A number that was too small is not tried again for
// `kRetryWindows` windows.
//
// Pure: no clock, no threads.
class BacklogLimit {
 public:
  // REQUIRES: batch_credits >= 1, max_policy_lag >= 0.
  BacklogLimit(int64_t batch_credits, int64_t max_policy_lag);

  // In credits.
  int64_t limit() const { return limit_; }

  // The limit, and nothing else, kept an environment without a credit. Only
  // then does a waiting learner raise it: otherwise it is not what is short.
  void NoteRefused() { refused_ = true; }

  // One train step ended, with this share of its wall time spent waiting for
  // data, [0, 1].
  void ObserveTrainStep(double waited_share);

  static constexpr int kWindow = 50;               // Train steps.
  static constexpr double kWaitedShareMax = 0.01;  // Of a window's wall time.
  static constexpr int kRetryWindows = 10;

 private:
  void Raise();
  void TryLower();
  void BeginWindow();

  // Constant after construction.
  const int64_t min_;
  const int64_t max_;
  const int64_t change_;  // Credits the limit moves by.

  int64_t limit_;
  int64_t too_small_ = 0;  // Not tried again; 0: nothing is known.
  int windows_since_too_small_ = 0;
  int steps_ = 0;            // Of this window.
  double waited_steps_ = 0;  // Of this window: waited shares added up.
  bool refused_ = false;     // In this window.
};

}  // namespace flywheel
