#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/core/clock.h"
#include "services/core/job_spec.h"
#include "services/core/member_status.h"
#include "services/core/time_ledger.h"
#include "services/rollout/acting_policy.h"
#include "services/rollout/buffer_link.h"
#include "services/rollout/environment_slot.h"
#include "services/rollout/policy_link.h"
#include "sim/environment_pool.h"
#include "sim/pool_drain.h"

namespace flywheel {

// Collects experience: asks for credits, steps environments under them, lets
// the policy act on batches of observations, and hands in the trajectories.
//
// An environment moves only under a credit. A credit of kind training pays for
// unroll_length chunks, over as many episodes as that takes; one of kind
// demonstration for one whole episode of the scripted expert. A newer policy
// version is swapped in between two batches, so a chunk is always of exactly
// one version.
//
// With max_policy_lag 0 every environment keeps its row in a batch of fixed
// size and every random number is keyed by (seed, environment, episode, chunk):
// the actions then do not depend on how the environments are spread over
// processes. Otherwise a batch takes whichever environments are ready.
//
// Not thread-safe: one thread calls RunOnce() until it fails.
class RolloutWorker {
 public:
  struct Options {
    JobSpec job;
    uint64_t worker = 0;  // Index of this rollout.
    uint64_t incarnation = 0;
  };

  // Everything given must outlive the worker.
  RolloutWorker(const Options& options, EnvironmentPool& pool,
                ActingPolicy& policy, BufferLink& buffer, PolicyLink& policies,
                const Clock& clock);

  // One turn: hears what is new, acts, steps, hands in. Waits at most 100 ms if
  // there is nothing to do. Fails if the buffer refuses this rollout.
  absl::Status RunOnce();

  RolloutStatus Status();

 private:
  absl::Status Hear(absl::Duration timeout);
  absl::Status SwapPolicy(PolicySnapshotPtr snapshot);
  void Handle(const BufferNews& news);
  EnvironmentSlot* SlotOf(uint64_t credit);

  void Begin(EnvironmentSlot& slot, const Credit& credit);
  void Reset(EnvironmentSlot& slot);
  void Continue(EnvironmentSlot& slot);
  void StepExpert(EnvironmentSlot& slot);
  void Void(EnvironmentSlot& slot);

  bool ActOnReady();
  void Act(const std::vector<EnvironmentSlot*>& rows);
  std::vector<EnvironmentSlot*> NextBatch();
  void SubmitChunk(EnvironmentSlot& slot, ActionSource source);
  void DisturbExpert(EnvironmentSlot& slot);

  void StepEnvironments();
  void HandleResult(const EnvironmentResult& result);
  void FailEpisode(EnvironmentSlot& slot, const absl::Status& status);
  void CloseTrajectory(EnvironmentSlot& slot);
  void HandIn(EnvironmentSlot& slot);
  void AskForCredits();

  // Constant after construction.
  const Options options_;
  const int batch_rows_;
  const bool fixed_rows_;
  EnvironmentPool& pool_;
  ActingPolicy& policy_;
  BufferLink& buffer_;
  PolicyLink& policies_;
  const Clock& clock_;

  std::vector<std::unique_ptr<EnvironmentSlot>> slots_;
  std::vector<EnvironmentSlot*> ready_;     // Await an action, oldest first.
  std::vector<uint64_t> wants_credit_;      // Environments.
  std::vector<EnvironmentResult> results_;  // Reused from turn to turn.
  int64_t version_ = -1;                    // Acted with; -1: none yet.
  uint64_t sequence_ = 0;                   // Of records.

  // One batch's rows, reused from call to call.
  std::vector<std::vector<std::byte>> batch_observations_;
  std::vector<std::string> batch_instructions_;
  std::vector<float> batch_noise_;
  std::vector<float> batch_actions_;
  std::vector<float> batch_log_probability_;
  std::vector<float> batch_value_;

  TimeLedger ledger_{"busy"};
  int64_t environment_steps_ = 0;
  int64_t episodes_ = 0;
  std::map<std::string, int64_t> drops_;

  PoolDrain drain_;  // Last: requests write into the slots.
};

}  // namespace flywheel
