#include "services/rollout/evaluation.h"

#include <cmath>
#include <numeric>
#include <string>

#include "services/core/keyed_random.h"
#include "sim/pool_drain.h"

namespace flywheel {
namespace {

// The evaluation's seeds do not depend on the job's.
constexpr uint64_t kHeldOut = 0;

// One environment's place in the batch, and the episode it plays.
struct Player {
  int episode = -1;  // -1: nothing left to play.
  double episode_return = 0;
  bool success = false;
};

class Game {
 public:
  Game(EnvironmentPool& pool, ActingPolicy& policy,
       const EvaluationOptions& options)
      : pool_(pool),
        policy_(policy),
        options_(options),
        rows_(pool.num_environments()),
        players_(rows_),
        instructions_(rows_),
        actions_(rows_ * ActionElements()),
        rewards_(rows_ * options.action_chunk),
        log_probability_(rows_ * options.action_chunk),
        value_(rows_) {
    for (const ObservationSpec& observation : pool.spec().observations) {
      observations_.emplace_back(observation.bytes() * rows_);
    }
    result_.returns.resize(options.episodes);
    for (int row = 0; row < rows_; ++row) Deal(row);
  }

  bool over() const { return pool_.outstanding() == 0; }
  int64_t finished() const { return finished_; }
  const EvaluationResult& result() const { return result_; }

  // Waits for every environment, then acts for all that go on.
  absl::Status PlayOnce() {
    results_.clear();
    pool_.Receive(pool_.outstanding(), results_);
    for (const EnvironmentResult& result : results_) {
      if (!result.status.ok()) return result.status;
      Score(result);
    }
    Act();
    return absl::OkStatus();
  }

 private:
  std::size_t ActionElements() const {
    return static_cast<std::size_t>(options_.action_chunk) *
           pool_.spec().action_size;
  }

  // Gives `row` the next episode, if there is one.
  void Deal(int row) {
    players_[row] = {};
    if (next_episode_ == options_.episodes) return;
    players_[row].episode = next_episode_++;
    pool_.Submit({.environment = row,
                  .reset = true,
                  .seed = KeyedBits(kHeldOut, RandomStream::kEvaluationSeed,
                                    players_[row].episode),
                  .observation = Observation(row)});
  }

  void Score(const EnvironmentResult& result) {
    const int row = result.environment;
    Player& player = players_[row];
    const float* rewards = rewards_.data() + row * options_.action_chunk;
    player.episode_return = std::accumulate(
        rewards, rewards + result.steps_executed, player.episode_return);
    player.success |= result.success;
    instructions_[row] = result.instruction;
    if (!result.terminated && !result.truncated) return;
    result_.returns[player.episode] = player.episode_return;
    result_.successes += player.success ? 1 : 0;
    ++finished_;
    Deal(row);
    dealt_.push_back(row);
  }

  void Act() {
    // Newly dealt episodes have to be looked at first, with the next batch.
    std::vector<bool> waits(rows_, false);
    for (const int row : dealt_) waits[row] = true;
    dealt_.clear();
    ActingBatch batch{.instructions = instructions_,
                      .actions = actions_,
                      .log_probability = log_probability_,
                      .value = value_};
    for (const auto& column : observations_) {
      batch.observations.emplace_back(column);
    }
    if (pool_.outstanding() == static_cast<std::size_t>(rows_)) return;
    policy_.Act(batch);
    for (int row = 0; row < rows_; ++row) {
      if (players_[row].episode < 0 || waits[row]) continue;
      pool_.Submit({.environment = row,
                    .num_steps = options_.action_chunk,
                    .actions = std::span(actions_).subspan(
                        row * ActionElements(), ActionElements()),
                    .rewards = std::span(rewards_).subspan(
                        row * options_.action_chunk, options_.action_chunk),
                    .observation = Observation(row)});
    }
  }

  std::vector<std::span<std::byte>> Observation(int row) {
    std::vector<std::span<std::byte>> columns;
    for (auto& column : observations_) {
      const std::size_t bytes = column.size() / rows_;
      columns.push_back(std::span(column).subspan(row * bytes, bytes));
    }
    return columns;
  }

  EnvironmentPool& pool_;
  ActingPolicy& policy_;
  const EvaluationOptions options_;
  const int rows_;
  std::vector<Player> players_;
  std::vector<std::string> instructions_;
  std::vector<float> actions_;
  std::vector<float> rewards_;
  std::vector<float> log_probability_;
  std::vector<float> value_;
  std::vector<std::vector<std::byte>> observations_;
  std::vector<EnvironmentResult> results_;
  std::vector<int> dealt_;
  int next_episode_ = 0;
  int64_t finished_ = 0;
  EvaluationResult result_;
  PoolDrain drain_{pool_};  // Last: requests write into what is above.
};

}  // namespace

double EvaluationResult::return_mean() const {
  return std::accumulate(returns.begin(), returns.end(), 0.0) /
         static_cast<double>(returns.size());
}

double EvaluationResult::return_std() const {
  if (returns.size() < 2) return 0;
  const double mean = return_mean();
  double squares = 0;
  for (const double value : returns) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(returns.size() - 1));
}

double EvaluationResult::success_rate() const {
  return static_cast<double>(successes) / static_cast<double>(returns.size());
}

absl::StatusOr<EvaluationResult> Evaluate(
    EnvironmentPool& pool, ActingPolicy& policy,
    const EvaluationOptions& options, const std::stop_token& stop,
    const std::function<void(int64_t)>& progress) {
  Game game(pool, policy, options);
  while (!game.over()) {
    if (stop.stop_requested()) return absl::CancelledError("stop requested");
    if (absl::Status status = game.PlayOnce(); !status.ok()) return status;
    progress(game.finished());
  }
  return game.result();
}

}  // namespace flywheel
