#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/clock.h"
#include "services/core/policy_snapshot.h"
#include "services/wire/dealer_channel.h"

namespace flywheel {

// The rollout's end of the exchange of policy.proto: always one question out,
// "anything newer than what I have?", which the learner answers as soon as it
// has. Every answer is verified before anybody sees it.
//
// Not thread-safe: owns a ZeroMQ socket.
class PolicyLink {
 public:
  struct Options {
    uint64_t worker = 0;
    absl::Duration repeat_after = absl::Seconds(1);  // Without an answer.
  };

  PolicyLink(DealerChannel channel, const Options& options, const Clock& clock);

  // The newest version that has arrived since the last call, if any; null
  // otherwise. Waits at most `timeout`. A damaged answer is counted, dropped
  // and asked for again.
  absl::StatusOr<PolicySnapshotPtr> Poll(absl::Duration timeout);

  int64_t damaged() const { return damaged_; }
  DealerChannel& channel() { return channel_; }

 private:
  bool IsNewer(const PolicySnapshot& snapshot) const;
  void Ask();

  DealerChannel channel_;
  const Options options_;
  const Clock& clock_;
  int64_t version_ = -1;  // Of what arrived last; -1: nothing yet.
  uint64_t lineage_ = 0;  // The same's: lives of the learner, in order.
  int64_t damaged_ = 0;
  absl::Time asked_;
  bool sent_ = false;  // The last question found a connection.
};

}  // namespace flywheel
