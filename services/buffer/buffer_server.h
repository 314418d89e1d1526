#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/buffer/drop_counts.h"
#include "services/buffer/learner_exchange.h"
#include "services/buffer/outbox.h"
#include "services/buffer/pacer.h"
#include "services/buffer/rollout_exchange.h"
#include "services/buffer/trajectory_store.h"
#include "services/core/job_spec.h"
#include "services/core/member_status.h"
#include "services/wire/router_channel.h"

namespace flywheel {

// All the buffer does, apart from its socket and its clock: takes messages of
// buffer.proto in, answers through a sender it is given.
//
//   Handle() --> RolloutExchange --> Pacer, TrajectoryStore <-- LearnerExchange
//
// Nothing a peer sends stops it: what breaks a rule is refused with a sentence,
// counted, and changes nothing.
//
// Not thread-safe. Never waits.
class BufferServer {
 public:
  // InvalidArgument if the lists of `job` could not be sent.
  static absl::Status CheckJob(const JobSpec& job);

  // REQUIRES: CheckJob(job).ok().
  BufferServer(const JobSpec& job, uint64_t incarnation, Outbox::Sender sender);

  BufferServer(const BufferServer&) = delete;
  BufferServer& operator=(const BufferServer&) = delete;

  // Takes one message in. Call Advance() after one or several.
  void Handle(const PeerMessage& message, absl::Time now);

  // Does what has become possible or is due: lists, answers, credits, call-ins,
  // revocations. Call it at least every 100 ms.
  void Advance(absl::Time now);

  // Without seconds_by_cause, which the loop around it measures.
  BufferStatus Status() const;

  const Pacer& pacer() const { return pacer_; }
  const TrajectoryStore& store() const { return store_; }
  const RolloutExchange& rollouts() const { return rollouts_; }
  const LearnerExchange& learners() const { return learners_; }
  const Outbox& outbox() const { return outbox_; }

 private:
  Outbox outbox_;
  DropCounts drops_;
  Pacer pacer_;
  TrajectoryStore store_;
  RolloutExchange rollouts_;
  LearnerExchange learners_;
};

}  // namespace flywheel
