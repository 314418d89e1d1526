#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "services/buffer/credit_requests.h"
#include "services/buffer/delivery_check.h"
#include "services/buffer/drop_counts.h"
#include "services/buffer/grant_book.h"
#include "services/buffer/outbox.h"
#include "services/buffer/overdue_limits.h"
#include "services/buffer/pacer.h"
#include "services/buffer/rejection.h"
#include "services/buffer/trajectory_store.h"
#include "services/wire/data_messages.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// The buffer's end of the exchange with all rollouts: who they are, which
// environments wait for credits, which credits are out, and what they bring.
//
// A rollout is known by its newest incarnation; with a newer one, the credits
// of the older return at once. What an incarnation delivers is numbered, and
// each number counts once. A grant that could not leave is taken back; one that
// was lost on its way is sent again when its environment asks again.
//
// Not thread-safe. Time is passed in.
class RolloutExchange {
 public:
  struct Options {
    uint64_t environments = 16;  // Of the whole job.
    DeliveryCheck::Options delivery;
    uint64_t demonstration_episodes = 0;  // Whole episodes to collect.
  };

  // A rollout's message and what came with it.
  struct Sender {
    std::string peer;
    uint64_t worker = 0;
    uint64_t incarnation = 0;
  };

  // All of them must outlive the exchange.
  RolloutExchange(const Options& options, Pacer& pacer, TrajectoryStore& store,
                  Outbox& outbox, DropCounts& drops);

  // One per message of buffer.proto. What breaks a rule is answered with a
  // refusal and changes nothing.
  void Hear(const Sender& sender, const RolloutHello& hello, absl::Time now);
  void Hear(const Sender& sender, const CreditRequest& request, absl::Time now);
  void Hear(const Sender& sender, const ActingVersion& acting, absl::Time now);
  void Hear(const Sender& sender, const Delivery& delivery,
            const std::vector<MessageFrame>& records, absl::Time now);

  // Gives every waiting environment the credit it may have.
  void GiveCredits(absl::Time now);

  // Tells the owners. Credits that are not out are passed over.
  void CallIn(const std::vector<uint64_t>& credits);
  void Revoke(const std::vector<uint64_t>& credits, const std::string& reason);

  // While the learner waits for demonstrations: those far overdue are revoked,
  // so that another environment collects them.
  void RevokeOverdueDemonstrations(absl::Time now);

  // Of the first rollout; nullopt before it said hello.
  std::optional<TrajectorySchema> schema() const;

  int64_t num_credits_given() const { return num_credits_given_; }
  int64_t num_credits_called_in() const { return num_credits_called_in_; }
  std::size_t num_waiting() const { return requests_.size(); }
  std::size_t num_demonstrations_out() const {
    return grants_.num_demonstrations();
  }

 private:
  struct Rollout {
    std::string peer;
    uint64_t incarnation = 0;
    uint64_t first_environment = 0;
    uint64_t num_environments = 0;
    int64_t acting_version = -1;  // -1: none yet.
    uint64_t acknowledged_through = 0;
    absl::Time hello;
    bool reachable = true;  // The newest message to it left.

    bool Has(uint64_t environment) const {
      return environment >= first_environment &&
             environment - first_environment < num_environments;
    }
  };

  Rollout* Known(const Sender& sender);
  std::optional<Rejection> CheckHello(const Sender& sender,
                                      const RolloutHello& hello) const;
  void ReturnAllOf(uint64_t worker);
  void ReturnCredit(const Credit& credit);
  void SendAgainIfLost(Rollout& rollout, Grant& grant, absl::Time now);
  bool DemonstrationWanted() const;
  std::optional<Credit> TryGive(const WaitingRequest& request,
                                const Rollout& rollout, absl::Time now);
  std::optional<Rejection> Store(const Sender& sender, const Rollout& rollout,
                                 const Delivery& delivery,
                                 const std::vector<MessageFrame>& records,
                                 absl::Time now);
  std::optional<Rejection> StoreRecords(
      const Sender& sender, const Rollout& rollout, const Grant& grant,
      const Delivery& delivery, const std::vector<MessageFrame>& records);
  Rejection UnknownCredit(const Sender& sender, const Delivery& delivery,
                          std::size_t num_records);
  void ObserveTime(const Credit& credit, const Delivery& delivery,
                   const std::vector<StoredRecord>& records);
  void Remember(uint64_t revoked);

  template <typename Message>
  void SendByWorker(const std::vector<uint64_t>& credits, Message message);

  // Constant after construction.
  const Options options_;
  Pacer& pacer_;
  TrajectoryStore& store_;
  Outbox& outbox_;
  DropCounts& drops_;

  std::optional<DeliveryCheck> check_;    // Once the schema is known.
  std::map<uint64_t, Rollout> rollouts_;  // By worker.
  CreditRequests requests_;
  GrantBook grants_;
  std::set<uint64_t> revoked_;  // The newest, whose late arrivals are expected.
  RunningMedian demonstration_seconds_;
  int64_t num_credits_given_ = 0;
  int64_t num_credits_called_in_ = 0;
};

}  // namespace flywheel
