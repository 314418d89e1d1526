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
    } else if ((*snapshot)->version.value > version_) {
      newest = *std::move(snapshot);
      version_ = newest->version.value;
    }
    Ask();
  }
  const absl::Duration patience = sent_ ? options_.repeat_after : kRetryUnsent;
  if (clock_.Now() - asked_ >= patience) Ask();
  return newest;
}

void PolicyLink::Ask() {
  // A question that a missing connection swallows is asked again.
  (void)channel_.Send({MessageFrame(
      FetchPolicyBytes({.worker = options_.worker, .newer_than = version_}))});
  asked_ = clock_.Now();
}

}  // namespace flywheel
