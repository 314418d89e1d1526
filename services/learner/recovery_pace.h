#pragma once

namespace flywheel {

// How often a recovery point is written: after every train step where that
// costs under 1 % of the training time, else after every k-th.
class RecoveryPace {
 public:
  // Counts `seconds` of training; whether they have paid for another point.
  bool DueAfter(double seconds) {
    saved_seconds_ += kShare * seconds;
    return saved_seconds_ >= cost_seconds_;
  }

  // A point was written, which took so long.
  void Wrote(double seconds) {
    cost_seconds_ = seconds;
    saved_seconds_ = 0;
  }

 private:
  static constexpr double kShare = 0.01;

  double cost_seconds_ = 0;   // Of the last point.
  double saved_seconds_ = 0;  // For the next one.
};

}  // namespace flywheel
