#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/core/job_spec.h"
#include "services/core/policy_snapshot.h"
#include "services/core/policy_version.h"
#include "services/learner/train_batch.h"
#include "services/policy/policy_shape.h"

namespace flywheel {

// What one train step did, as means over its minibatches unless said otherwise.
struct TrainResult {
  int64_t chunks = 0;
  int64_t environment_steps = 0;
  double policy_loss = 0;
  double value_loss = 0;
  double entropy = 0;        // Nats per environment step.
  double clip_fraction = 0;  // Chunks whose ratio was clipped.
  double kl_k1 = 0;          // Estimates of KL(behavior, target), whole
  double kl_k3 = 0;          // batch, before the first minibatch.
  double kl_after = 0;       // k3 of the last epoch that ran.
  double effective_sample_share = 0;  // Of raw ratios, before the first
                                      // minibatch; 1: nothing is off-policy.
  double explained_variance = 0;      // Of value targets, by the old values.
  double gradient_norm = 0;           // Before clipping.
  double learning_rate = 0;
  double reward_scale = 1;  // Rewards were multiplied by it.
  double value_mean = 0;
  double advantage_std = 0;  // Before normalization.
  double log_std_mean = 0;
  double policy_lag_mean = 0;  // Over chunks.
  int64_t policy_lag_max = 0;
  int64_t epochs = 0;  // That ran; fewer if kl_max ended them.
};

struct ImitationResult {
  int64_t chunks = 0;
  double loss = 0;
  double action_error = 0;  // Root mean square, of executed steps.
  double value_loss = 0;
  double gradient_norm = 0;
};

// Proximal policy optimization (Schulman et al. 2017) over whole trajectories
// that may be a few versions old.
//
// Train() takes the trajectories of one train step and turns version v into
// v + 1: value targets with the weights of version v (corrected by V-trace or
// not), then epochs of shuffled minibatches, then the batch's observations are
// merged into the statistics, which version v + 1 is the first to use. Equal
// options, seed, thread count and batches give equal bits, whether or not the
// state was saved and loaded in between.
//
// Not thread-safe. No exception of torch leaves it: Internal instead.
class PpoLearner {
 public:
  struct Options {
    PolicySpec policy;
    AlgorithmSpec algorithm;
    PretrainingSpec pretraining;
    PolicyShape shape;
    uint64_t seed = 1;
    std::string device = "auto";  // "auto", "cpu", "cuda".
    uint64_t lineage = 0;         // Written into snapshots.
    // Of a snapshot's bytes; unset: 0 is written.
    std::function<uint32_t(std::span<const std::byte>)> checksum;
  };

  // Version 0. Returns InvalidArgument if the policy does not fit the shape,
  // FailedPrecondition if "cuda" is asked for and there is none.
  static absl::StatusOr<std::unique_ptr<PpoLearner>> Create(
      const Options& options);

  virtual ~PpoLearner() = default;

  // One train step. `budget_share` in [0, 1] says how much of the training
  // budget is used (learning-rate schedule). Returns InvalidArgument naming the
  // field if the batch contradicts itself or the shape, Internal if a loss is
  // not finite: weights are then unusable.
  virtual absl::StatusOr<TrainResult> Train(const TrainBatch& batch,
                                            double budget_share) = 0;

  // One step of imitation; `share` in [0, 1] says how much of the imitation is
  // done. Does not change the version.
  virtual absl::StatusOr<ImitationResult> Imitate(const ImitationBatch& batch,
                                                  double share) = 0;

  // Ends imitation: the optimizer forgets its moments. Call once, before the
  // first Train() after Imitate().
  virtual void FinishImitation() = 0;

  // The present version.
  virtual PolicyVersion version() const = 0;
  virtual PolicySnapshotPtr Snapshot() const = 0;

  // Everything training goes on from, as a safetensors file; tensors named
  // "policy/..." are the snapshot's.
  virtual std::vector<std::byte> SaveState() const = 0;

  // Goes on from SaveState()'s bytes. Returns InvalidArgument naming the
  // tensor, changing nothing, if they do not fit this learner.
  virtual absl::Status LoadState(std::span<const std::byte> state) = 0;
};

}  // namespace flywheel
