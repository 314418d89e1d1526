#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "absl/status/statusor.h"
#include "services/core/trajectory_schema.h"
#include "services/learner/train_batch.h"
#include "services/policy/policy_shape.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// What a batch says about the experience itself.
struct ExperienceSummary {
  struct Episode {
    double episode_return = 0;
    int64_t steps = 0;
    bool success = false;
  };
  std::vector<Episode> episodes;  // Those that ended in this batch.
  int64_t environment_steps = 0;
  std::map<int64_t, int64_t> policy_lag_counts;  // Chunks, by lag.
  double sample_age_seconds_mean = 0;
};

// Lays the records of a list end to end as one batch. Columns are wrapped where
// they lie and copied once, into the batch.
//
// Not thread-safe.
class BatchBuilder {
 public:
  // InvalidArgument if the schema lacks what training needs.
  static absl::StatusOr<BatchBuilder> Create(const TrajectorySchema& schema);

  const PolicyShape& shape() const { return shape_; }
  bool has_success() const { return success_ >= 0; }  // The task reports it.

  // Makes the batch of train step `version`. DataLoss naming the record if one
  // is damaged, or was acted by a version that does not exist yet.
  absl::StatusOr<TrainBatch> Train(const std::vector<MessageFrame>& records,
                                   int64_t version,
                                   ExperienceSummary& summary) const;

  // Makes an imitation batch of whole demonstrated episodes.
  absl::StatusOr<ImitationBatch> Imitation(
      const std::vector<MessageFrame>& records, double discount) const;

 private:
  BatchBuilder() = default;

  TrajectorySchema schema_;
  uint64_t schema_hash_ = 0;
  PolicyShape shape_;
  int image_ = -1;  // Column indices; -1: none.
  int state_ = -1;
  int final_image_ = -1;
  int final_state_ = -1;
  int instruction_ = -1;
  int success_ = -1;
};

}  // namespace flywheel
