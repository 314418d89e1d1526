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
#include "sim/environment.h"

namespace flywheel {

// Who chooses the actions of a request.
enum class ActionSource { kPolicy, kExpert };

// Work for one environment: an optional reset, then up to `num_steps`
// environment steps, ending early where the episode ends, then one observation.
//
// The memory behind every span belongs to the caller and must stay valid until
// the request comes back from Receive().
struct EnvironmentRequest {
  int environment = 0;  // [0, num_environments)
  bool reset = false;   // Begin a new episode from `seed` first.
  uint64_t seed = 0;

  int num_steps = 0;  // 0 only observes.
  ActionSource source = ActionSource::kPolicy;
  std::span<float> actions;  // [num_steps, action_size]; written by kExpert.
  // [num_steps, action_size]: added to what kExpert executes, not to what it
  // writes, so that recoveries are demonstrated too. Empty: none.
  std::span<const float> expert_noise;
  std::span<float> rewards;  // [num_steps], raw; written.
  // One span per observation of the spec; written after the steps. Empty:
  // nothing is observed.
  std::vector<std::span<std::byte>> observation;
  // False: not observed if the last step terminated (nothing looks at it).
  bool observe_terminated = false;
};

struct EnvironmentResult {
  int environment = 0;
  int steps_executed = 0;
  bool terminated = false;  // At the last executed step.
  bool truncated = false;
  bool success = false;     // At any executed step.
  std::string instruction;  // Of the episode that is running or just ended.
  absl::Status status;      // Not OK: the simulation failed (Internal) or an
                            // action is not finite (InvalidArgument). Nothing
                            // is observed; reset before more.
};

// Many environments of one task, stepped by `num_threads` threads.
//
// Submit() hands out work and never waits; Receive() returns whatever has
// finished, so a slow environment delays nobody but itself. An environment is
// bound to thread (index mod num_threads) for life, because of rendering
// contexts and caches. With num_threads == 0 Receive() does the work itself, in
// the calling thread: best for cheap physics and small policies.
//
// One thread owns the pool and calls Submit() and Receive().
class EnvironmentPool {
 public:
  struct Options {
    std::string task;
    int num_environments = 1;
    int num_threads = 1;
  };

  // Returns InvalidArgument for an unknown task (naming the likely one) or
  // sizes out of range, Internal if a model does not load.
  static absl::StatusOr<std::unique_ptr<EnvironmentPool>> Create(
      const Options& options);

  // The same over environments that `make` makes, one per index.
  using Factory =
      std::function<absl::StatusOr<std::unique_ptr<Environment>>(int)>;
  static absl::StatusOr<std::unique_ptr<EnvironmentPool>> Create(
      const Options& options, const Factory& make);

  virtual ~EnvironmentPool() = default;  // Finishes running steps, joins.

  virtual const TaskSpec& spec() const = 0;
  virtual int num_environments() const = 0;

  // Queues one request. At most one may be outstanding per environment, and
  // its spans must be as large as the spec asks: anything else is our own bug
  // and aborts with a sentence.
  virtual void Submit(EnvironmentRequest request) = 0;

  // Waits until at least `min_results` requests finished (all outstanding ones,
  // if fewer), then appends every finished result to `results`. Without threads
  // it does that many itself, in the order of submission, and no more.
  virtual void Receive(std::size_t min_results,
                       std::vector<EnvironmentResult>& results) = 0;

  // Requests submitted and not yet received.
  virtual std::size_t outstanding() const = 0;
};

}  // namespace flywheel
