#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "services/buffer/drop_counts.h"
#include "services/buffer/outbox.h"
#include "services/buffer/pacer.h"
#include "services/buffer/rejection.h"
#include "services/buffer/rollout_exchange.h"
#include "services/buffer/trajectory_store.h"
#include "services/wire/data_messages.h"

namespace flywheel {

// The buffer's end of the exchange with the learner: hands out the lists of
// train steps, each as often as it is asked for, and samples demonstrations.
//
// The learner says where training stands; the pacer follows it where it can. A
// buffer that never made a list begins there. A learner's new life that fell
// back to a step whose list is not kept starts over there: what was collected
// for its former life is void, and no trajectory counts twice in the weights
// that survive. Anything else that does not fit is refused.
//
// One question of each kind waits per learner; a repeated one takes its place.
//
// Not thread-safe. Time is passed in.
class LearnerExchange {
 public:
  // A learner's rank takes the place of a worker.
  using Sender = RolloutExchange::Sender;

  struct Options {
    uint64_t num_learners = 1;  // Ranks.
    uint64_t seed = 1;          // Of the job.
  };

  // All of them must outlive the exchange.
  LearnerExchange(const Options& options, Pacer& pacer, TrajectoryStore& store,
                  RolloutExchange& rollouts, Outbox& outbox, DropCounts& drops);

  // One per message of buffer.proto. What breaks a rule is answered with a
  // refusal and changes nothing.
  void Hear(const Sender& sender, const LearnerHello& hello);
  void Hear(const Sender& sender, const TakeRequest& take);
  void Hear(const Sender& sender, const SampleRequest& sample);
  void Hear(const Sender& sender, const Release& release);

  // Makes the list that is asked for, if it can be made now, and answers what
  // can be answered.
  void Advance(absl::Time now);

  // Whether it is known where training stands: no credits before that.
  bool standing_known() const { return standing_known_; }

  // Credits in lists so far, by policy lag.
  const std::map<int64_t, int64_t>& lag_counts() const { return lag_counts_; }
  int64_t num_lists() const { return num_lists_; }
  bool waits_for_demonstrations() const;

 private:
  struct Learner {
    std::string peer;
    uint64_t incarnation = 0;
    bool stands = false;  // It said, and we know, which step it is at.
    std::optional<int64_t> take;
    std::optional<SampleRequest> sample;
  };

  Learner* Admit(const Sender& sender);
  bool Stand(Learner& learner, int64_t step);
  void StartOver(int64_t step);
  void TryMakeList(absl::Time now);
  void AnswerTake(Learner& learner);
  void AnswerSample(Learner& learner);
  std::optional<Rejection> CheckSample(const SampleRequest& sample) const;

  // Constant after construction.
  const Options options_;
  Pacer& pacer_;
  TrajectoryStore& store_;
  RolloutExchange& rollouts_;
  Outbox& outbox_;
  DropCounts& drops_;

  std::map<uint64_t, Learner> learners_;  // By rank.
  bool standing_known_ = false;
  int64_t num_lists_ = 0;
  std::map<int64_t, int64_t> lag_counts_;
};

}  // namespace flywheel
