#pragma once

#include "absl/time/time.h"
#include "services/core/clock.h"

namespace flywheel {

// Time that moves only when told to.
class FakeClock final : public Clock {
 public:
  absl::Time Now() const override { return now_; }
  void Advance(absl::Duration by) { now_ += by; }

 private:
  absl::Time now_ = absl::UnixEpoch();
};

}  // namespace flywheel
