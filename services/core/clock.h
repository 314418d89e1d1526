#pragma once

#include <chrono>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace flywheel {

// The present moment; a seam, so that tests can turn time by hand.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;
};

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
};

// The system's time when it was made, and from then on what has passed since:
// never goes back, whatever is done to the system's clock. For deadlines.
class MonotonicClock final : public Clock {
 public:
  absl::Time Now() const override {
    return started_ +
           absl::FromChrono(std::chrono::steady_clock::now() - steady_started_);
  }

 private:
  const absl::Time started_ = absl::Now();
  const std::chrono::steady_clock::time_point steady_started_ =
      std::chrono::steady_clock::now();
};

}  // namespace flywheel
