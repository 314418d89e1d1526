#pragma once

#include <memory>

#include "services/core/member_status.h"

namespace prometheus {
class Registry;
}

namespace flywheel {

// The rollout's /metrics, set from its status. Scrapes may run meanwhile.
class RolloutMetrics {
 public:
  explicit RolloutMetrics(prometheus::Registry& registry);
  ~RolloutMetrics();

  void Set(const RolloutStatus& status);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace flywheel
