#pragma once

#include <cstdint>
#include <span>

namespace flywheel {

// Scaled rewards stay within +-kRewardClip.
inline constexpr double kRewardClip = 10.0;

// Running variance of the discounted return, by whose root rewards are divided
// so that values are of order 1 in every task. Merges in double, as
// ObservationStatistics does. Not thread-safe.
class RewardScale {
 public:
  // Takes up the running discounted returns after each step of one trajectory:
  // G <- discount * G + reward, from `running_return`.
  void Merge(std::span<const float> rewards, double running_return,
             double discount);

  // What rewards are multiplied by: 1 / sqrt(variance + 1e-8), 1 at first.
  double factor() const;

  double count() const { return count_; }
  double mean() const { return mean_; }
  double squared_deviations() const { return squared_deviations_; }
  void Restore(double count, double mean, double squared_deviations);

 private:
  double count_ = 0;
  double mean_ = 0;
  double squared_deviations_ = 0;
};

// The sum of discount^i * reward_i.
double DiscountedSum(std::span<const float> rewards, double discount);

// The chunk's discounted sum of scaled, clipped rewards.
double ScaledChunkReward(std::span<const float> rewards, double factor,
                         double discount);

}  // namespace flywheel
