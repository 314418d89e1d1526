#include "services/learner/policy_server.h"

#include <stop_token>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "services/core/status_macros.h"
#include "services/wire/policy_codec.h"

namespace flywheel {
namespace {

constexpr absl::Duration kPatience = absl::Milliseconds(200);
constexpr std::size_t kMaxQuestionBytes = 1024;
const char* const kWakerIdentity = "waker";

}  // namespace

absl::StatusOr<std::unique_ptr<PolicyServer>> PolicyServer::Start(
    ZmqContext& context, const std::string& endpoint) {
  absl::StatusOr<RouterChannel> router =
      RouterChannel::Bind(context, {.endpoint = endpoint,
                                    .max_message_bytes = kMaxQuestionBytes,
                                    .max_frames = 4});
  if (!router.ok()) return router.status();
  absl::StatusOr<DealerChannel> waker = DealerChannel::Connect(
      context, {.endpoint = router->endpoint(), .identity = kWakerIdentity});
  if (!waker.ok()) return waker.status();
  return std::unique_ptr<PolicyServer>(
      new PolicyServer(*std::move(router), *std::move(waker)));
}

PolicyServer::PolicyServer(RouterChannel router, DealerChannel waker)
    : waker_(std::move(waker)), router_(std::move(router)) {
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

PolicyServer::~PolicyServer() {
  thread_.request_stop();
  (void)waker_.Send({MessageFrame(std::string_view("stop"))});
}

void PolicyServer::Publish(PolicySnapshotPtr snapshot) {
  if (!store_.Publish(std::move(snapshot))) return;
  // If the wake-up is lost, kPatience bounds how long rollouts wait for it.
  (void)waker_.Send({MessageFrame(std::string_view("published"))});
}

void PolicyServer::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto received = router_.Receive(kPatience);
    if (received.ok() && received->has_value() &&
        (*received)->peer != kWakerIdentity && !(*received)->frames.empty()) {
      const absl::StatusOr<FetchPolicy> fetch =
          FetchPolicyFromBytes((*received)->frames.front().text());
      // Whoever sends nonsense gets no answer; everyone else is served.
      if (fetch.ok()) waiting_[(*received)->peer] = *fetch;
    }
    AnswerWaiting();
  }
}

void PolicyServer::AnswerWaiting() {
  const PolicySnapshotPtr newest = store_.Newest();
  if (newest == nullptr || waiting_.empty()) return;
  std::vector<MessageFrame> frames;
  for (auto waiting = waiting_.begin(); waiting != waiting_.end();) {
    if (waiting->second.lineage == newest->lineage &&
        waiting->second.newer_than >= newest->version.value) {
      ++waiting;
      continue;
    }
    if (frames.empty()) frames = PolicyFrames(newest);
    if (router_.Send(waiting->first, frames).ok()) ++served_;
    waiting = waiting_.erase(waiting);
  }
}

}  // namespace flywheel
