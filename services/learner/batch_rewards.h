#pragma once

#include <vector>

#include "services/learner/reward_scale.h"
#include "services/learner/train_batch.h"

namespace flywheel {

// Takes up the running discounted returns of every trajectory of the batch.
void MergeReturns(const TrainBatch& batch, double discount, RewardScale& scale);

// Each chunk's discounted sum of rewards [chunks]: scaled and clipped by
// `scale`, or raw if it is null.
std::vector<float> ChunkRewards(const TrainBatch& batch, double discount,
                                const RewardScale* scale);

}  // namespace flywheel
