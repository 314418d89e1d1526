#pragma once

#include "absl/status/status.h"
#include "services/learner/train_batch.h"
#include "services/policy/policy_shape.h"

namespace flywheel {

// Whether a batch agrees with itself and with the policy's shape: sizes,
// element types, counts, and numbers that are finite: one that is not would end
// up in the weights. Final observations are not looked into. Returns
// InvalidArgument naming the field, the rule and the value.
absl::Status CheckTrainBatch(const TrainBatch& batch, const PolicyShape& shape);
absl::Status CheckImitationBatch(const ImitationBatch& batch,
                                 const PolicyShape& shape);

}  // namespace flywheel
