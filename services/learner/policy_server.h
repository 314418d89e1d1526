#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "services/learner/policy_store.h"
#include "services/wire/dealer_channel.h"
#include "services/wire/policy_codec.h"
#include "services/wire/router_channel.h"
#include "services/wire/zmq_context_channel.h"

namespace flywheel {

// Serves policy versions to rollouts, from a thread of its own: a question for
// something newer is answered at once, or as soon as Publish() brings it. A
// slow rollout delays nobody: what cannot be queued for it is dropped, and it
// asks again.
//
// Publish() belongs to one thread; the rest is inside.
class PolicyServer {
 public:
  // Binds `endpoint` and starts serving. `context` must outlive the server.
  static absl::StatusOr<std::unique_ptr<PolicyServer>> Start(
      ZmqContext& context, const std::string& endpoint);

  ~PolicyServer();  // Stops and joins.

  // Offers a version to whoever asks from now on. Versions only grow; an older
  // one is ignored.
  void Publish(PolicySnapshotPtr snapshot);

  const PolicyStore& store() const { return store_; }

  // Versions sent so far.
  int64_t served() const { return served_; }

 private:
  PolicyServer(RouterChannel router, DealerChannel waker);

  void Run(const std::stop_token& stop);
  void AnswerWaiting();

  PolicyStore store_;
  std::atomic<int64_t> served_ = 0;

  // The publishing thread's.
  DealerChannel waker_;

  // The serving thread's.
  RouterChannel router_;
  std::map<std::string, FetchPolicy> waiting_;  // By peer: its question.

  std::jthread thread_;  // Last member: started last, joined first.
};

}  // namespace flywheel
