#pragma once

#include <algorithm>
#include <cstdint>

#include "absl/time/time.h"

namespace flywheel {

// How long calls of one kind waited for a rate limiter. The caller reads its
// clock (services/core/clock.h) and tells. Not thread-safe.
class WaitTimes {
 public:
  struct Totals {
    int64_t waiting = 0;     // Now.
    int64_t waited = 0;      // Are through.
    absl::Duration total;    // Of both.
    absl::Duration longest;  // Of those that are through.
  };

  void Began(absl::Time now) {
    ++waiting_;
    began_ += now - absl::UnixEpoch();
  }

  // Also for one that gave up. `began` is the moment given to Began().
  void Ended(absl::Time began, absl::Time now) {
    --waiting_;
    began_ -= began - absl::UnixEpoch();
    ++waited_;
    total_ += now - began;
    longest_ = std::max(longest_, now - began);
  }

  Totals At(absl::Time now) const {
    return {.waiting = waiting_,
            .waited = waited_,
            .total = total_ + waiting_ * (now - absl::UnixEpoch()) - began_,
            .longest = longest_};
  }

 private:
  int64_t waiting_ = 0;
  int64_t waited_ = 0;
  absl::Duration began_;  // The sum of the moments at which they began.
  absl::Duration total_;
  absl::Duration longest_;
};

}  // namespace flywheel
