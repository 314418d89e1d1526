#include "services/learner/batch_rewards.h"

#include <cstddef>
#include <span>

namespace flywheel {

void MergeReturns(const TrainBatch& batch, double discount,
                  RewardScale& scale) {
  const std::span<const float> rewards(batch.reward);
  std::size_t chunk = 0;
  std::size_t step = 0;
  for (std::size_t i = 0; i < batch.num_chunks.size(); ++i) {
    std::size_t steps = 0;
    for (int64_t j = 0; j < batch.num_chunks[i]; ++j) {
      steps += batch.steps_executed[chunk++];
    }
    scale.Merge(rewards.subspan(step, steps), batch.running_return[i],
                discount);
    step += steps;
  }
}

std::vector<float> ChunkRewards(const TrainBatch& batch, double discount,
                                const RewardScale* scale) {
  const std::span<const float> rewards(batch.reward);
  const double factor = scale == nullptr ? 1.0 : scale->factor();
  std::vector<float> sums;
  sums.reserve(batch.steps_executed.size());
  std::size_t step = 0;
  for (const int32_t steps : batch.steps_executed) {
    const std::span<const float> own = rewards.subspan(step, steps);
    sums.push_back(static_cast<float>(
        scale == nullptr ? DiscountedSum(own, discount)
                         : ScaledChunkReward(own, factor, discount)));
    step += steps;
  }
  return sums;
}

}  // namespace flywheel
