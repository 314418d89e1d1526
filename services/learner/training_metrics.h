#pragma once

#include <map>
#include <memory>
#include <string>

#include "services/core/member_status.h"

namespace prometheus {
class Registry;
}

namespace flywheel {

struct TrainResult;

// The learner's /metrics. Not thread-safe to call; scrapes may run meanwhile.
class TrainingMetrics {
 public:
  explicit TrainingMetrics(prometheus::Registry& registry);
  ~TrainingMetrics();

  // After each train step: what it did, and the lags of its chunks.
  void Observe(const TrainResult& result,
               const std::map<int64_t, int64_t>& policy_lag_counts);

  // Totals and shares, whenever a status is reported.
  void Set(const LearnerStatus& status);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace flywheel
