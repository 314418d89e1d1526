#include "services/learner/reward_scale.h"

#include <algorithm>
#include <cmath>

namespace flywheel {

void RewardScale::Merge(std::span<const float> rewards, double running_return,
                        double discount) {
  for (const float reward : rewards) {
    running_return = discount * running_return + reward;
    count_ += 1;
    const double shift = running_return - mean_;
    mean_ += shift / count_;
    squared_deviations_ += shift * (running_return - mean_);
  }
}

double RewardScale::factor() const {
  if (count_ == 0) return 1;
  return 1.0 / std::sqrt(squared_deviations_ / count_ + 1e-8);
}

void RewardScale::Restore(double count, double mean,
                          double squared_deviations) {
  count_ = count;
  mean_ = mean;
  squared_deviations_ = squared_deviations;
}

double DiscountedSum(std::span<const float> rewards, double discount) {
  double sum = 0;
  double weight = 1;
  for (const float reward : rewards) {
    sum += weight * reward;
    weight *= discount;
  }
  return sum;
}

double ScaledChunkReward(std::span<const float> rewards, double factor,
                         double discount) {
  double sum = 0;
  double weight = 1;
  for (const float reward : rewards) {
    sum += weight * std::clamp(reward * factor, -kRewardClip, kRewardClip);
    weight *= discount;
  }
  return sum;
}

}  // namespace flywheel
