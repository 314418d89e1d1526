#include "services/rollout/policy_link.h"

#include <utility>

#include "services/wire/policy_codec.h"

namespace flywheel {
namespace {

constexpr absl::Duration kRetryUnsent = absl::Milliseconds(20);

}  // namespace

PolicyLink::PolicyLink(DealerChannel channel, const Options& options,
                       const Clock& clock)
    : channel_(std::move(channel)), options_(options), clock_(clock) {
  Ask();
}

absl::StatusOr<PolicySnapshotPtr> PolicyLink::Poll(absl::Duration timeout) {
  PolicySnapshotPtr newest;
  while (true) {
    const auto received = channel_.Receive(timeout);
    if (!received.ok()) return received.status();
    if (!received->has_value()) break;
    timeout = absl::ZeroDuration();
    absl::StatusOr<PolicySnapshotPtr> snapshot = PolicyFromFrames(**received);
    if (!snapshot.ok()) {
      ++damaged_;
    } else if (IsNewer(**snapshot)) {
      newest = *std::move(snapshot);
      version_ = newest->version.value;
      lineage_ = newest->lineage;
    }
    Ask();
  }
  const absl::Duration patience = sent_ ? options_.repeat_after : kRetryUnsent;
  if (clock_.Now() - asked_ >= patience) Ask();
  return newest;
}

// A learner that was started again may have fallen back: its versions count,
// not those of its former life.
bool PolicyLink::IsNewer(const PolicySnapshot& snapshot) const {
  return std::pair(snapshot.lineage, snapshot.version.value) >
         std::pair(lineage_, version_);
}

void PolicyLink::Ask() {
  // A question that a missing connection swallows is asked again.
  sent_ = channel_
              .Send({MessageFrame(FetchPolicyBytes({.worker = options_.worker,
                                                    .newer_than = version_,
                                                    .lineage = lineage_}))})
              .ok();
  asked_ = clock_.Now();
}

}  // namespace flywheel
