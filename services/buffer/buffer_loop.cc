#include "services/buffer/buffer_loop.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace flywheel {
namespace {

// Bounds how late timers are noticed, and a stop.
constexpr absl::Duration kPatience = absl::Milliseconds(20);

// Messages taken in before lists and credits are looked at again.
constexpr int kMessagesAtOnce = 64;

}  // namespace

BufferLoop::BufferLoop(RouterChannel router, const JobSpec& job,
                       uint64_t incarnation, const Clock& clock)
    : router_(std::move(router)),
      clock_(clock),
      server_(job, incarnation,
              [this](const std::string& peer,
                     const std::vector<MessageFrame>& frames) {
                return router_.Send(peer, frames);
              }) {}

absl::Status BufferLoop::RunOnce() {
  ledger_.Switch("waiting_for_requests");
  absl::StatusOr<std::optional<PeerMessage>> received =
      router_.Receive(kPatience);
  ledger_.Switch("busy");
  for (int i = 0; received.ok() && received->has_value(); ++i) {
    server_.Handle(**received, clock_.Now());
    if (i + 1 == kMessagesAtOnce) break;
    received = router_.Receive(absl::ZeroDuration());
  }
  server_.Advance(clock_.Now());
  return received.status();
}

BufferStatus BufferLoop::Status() {
  BufferStatus status = server_.Status();
  for (const auto& [cause, seconds] : ledger_.Seconds()) {
    status.seconds_by_cause[cause] = seconds;
  }
  return status;
}

}  // namespace flywheel
