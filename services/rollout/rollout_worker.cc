#include "services/rollout/rollout_worker.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "services/core/keyed_random.h"
#include "services/core/status_macros.h"
#include "services/rollout/inference_batch.h"
#include "services/rollout/task_schema.h"

namespace flywheel {
namespace {

constexpr absl::Duration kIdleWait = absl::Milliseconds(100);

}  // namespace

RolloutWorker::RolloutWorker(const Options& options, EnvironmentPool& pool,
                             ActingPolicy& policy, BufferLink& buffer,
                             PolicyLink& policies, const Clock& clock)
    : options_(options),
      batch_rows_(InferenceBatch(options.job.resources)),
      fixed_rows_(options.job.pacing.max_policy_lag == 0),
      pool_(pool),
      policy_(policy),
      buffer_(buffer),
      policies_(policies),
      clock_(clock),
      drain_(pool) {
  const JobSpec& job = options_.job;
  const TaskSpec& task = pool_.spec();
  const int chunk = job.policy.action_chunk;
  const int episode_chunks = (task.max_episode_steps + chunk - 1) / chunk;
  const bool demonstrates = job.pretraining.scripted;
  const TrajectoryRecorder::Options recording = {
      .task = task,
      .schema = TaskSchema(task, job.policy),
      .action_chunk = chunk,
      .max_chunks = std::max(job.algorithm.unroll_length,
                             demonstrates ? episode_chunks : 0),
      .discount = job.algorithm.discount};
  for (int i = 0; i < pool_.num_environments(); ++i) {
    const uint64_t environment = options_.worker * pool_.num_environments() + i;
    slots_.push_back(
        std::make_unique<EnvironmentSlot>(i, environment, recording));
    wants_credit_.push_back(environment);
  }
  for (const ObservationSpec& observation : task.observations) {
    batch_observations_.emplace_back(observation.bytes() * batch_rows_);
  }
  const std::size_t action_elements =
      static_cast<std::size_t>(batch_rows_) * chunk * task.action_size;
  batch_instructions_.resize(batch_rows_);
  batch_noise_.resize(action_elements);
  batch_actions_.resize(action_elements);
  batch_log_probability_.resize(batch_rows_ * chunk);
  batch_value_.resize(batch_rows_);
}

absl::Status RolloutWorker::RunOnce() {
  FLYWHEEL_RETURN_IF_ERROR(Hear(absl::ZeroDuration()));
  AskForCredits();
  if (ActOnReady()) return absl::OkStatus();
  if (pool_.outstanding() > 0) {
    StepEnvironments();
    return absl::OkStatus();
  }
  ledger_.Switch(version_ < 0 ? "waiting_for_policy" : "waiting_for_credits");
  DealerChannel::WaitAny({&buffer_.channel(), &policies_.channel()}, kIdleWait);
  ledger_.Switch("busy");
  return absl::OkStatus();
}

absl::Status RolloutWorker::Hear(absl::Duration timeout) {
  absl::StatusOr<PolicySnapshotPtr> snapshot = policies_.Poll(timeout);
  if (!snapshot.ok()) return snapshot.status();
  if (*snapshot != nullptr) {
    FLYWHEEL_RETURN_IF_ERROR(SwapPolicy(*std::move(snapshot)));
  }
  BufferNews news;
  FLYWHEEL_RETURN_IF_ERROR(buffer_.Poll(timeout, news));
  Handle(news);
  return absl::OkStatus();
}

absl::Status RolloutWorker::SwapPolicy(PolicySnapshotPtr snapshot) {
  FLYWHEEL_RETURN_IF_ERROR(policy_.Load(*snapshot));
  version_ = snapshot->version.value;
  buffer_.ActWith(snapshot->version);
  return absl::OkStatus();
}

void RolloutWorker::Handle(const BufferNews& news) {
  if (news.buffer_restarted) {
    for (const auto& slot : slots_) Void(*slot);
  }
  for (const uint64_t credit : news.revoked) {
    if (EnvironmentSlot* slot = SlotOf(credit)) Void(*slot);
  }
  for (const Credit& credit : news.grants) {
    const uint64_t first = options_.worker * slots_.size();
    if (credit.environment < first ||
        credit.environment >= first + slots_.size()) {
      continue;  // Not one of ours: nothing we could do under it.
    }
    Begin(*slots_[credit.environment - first], credit);
  }
  for (const uint64_t credit : news.called_in) {
    EnvironmentSlot* slot = SlotOf(credit);
    if (slot == nullptr) continue;
    slot->called_in = true;
    if (slot->state != SlotState::kAwaitsAction) continue;
    std::erase(ready_, slot);
    CloseTrajectory(*slot);
    HandIn(*slot);
  }
}

EnvironmentSlot* RolloutWorker::SlotOf(uint64_t credit) {
  for (const auto& slot : slots_) {
    if (slot->credit.has_value() && slot->credit->id == credit) {
      return slot.get();
    }
  }
  return nullptr;
}

void RolloutWorker::Begin(EnvironmentSlot& slot, const Credit& credit) {
  if (slot.credit.has_value()) return;  // A repeated grant.
  if (slot.state != SlotState::kNoCredit) {
    // Still finishing a chunk under a credit that was revoked: give it back.
    buffer_.Deliver(credit.id, {}, absl::ZeroDuration());
    return;
  }
  slot.credit = credit;
  slot.void_credit = false;
  slot.called_in = false;
  slot.granted = clock_.Now();
  slot.chunks_left = options_.job.algorithm.unroll_length;
  if (credit.kind == CreditKind::kDemonstration) {
    Reset(slot);
  } else {
    Continue(slot);
  }
}

// Goes on with the running episode under a new credit, or begins one.
void RolloutWorker::Continue(EnvironmentSlot& slot) {
  if (!slot.episode_running) {
    Reset(slot);
    return;
  }
  if (!slot.trajectory_open) {
    slot.recorder.BeginTrajectory();
    slot.trajectory_open = true;
  }
  slot.state = SlotState::kAwaitsAction;
  ready_.push_back(&slot);
}

void RolloutWorker::Reset(EnvironmentSlot& slot) {
  const bool expert = slot.credit->kind == CreditKind::kDemonstration;
  slot.episode = expert ? slot.demonstrations++ : slot.episodes++;
  const uint64_t seed = KeyedBits(
      options_.job.seed,
      expert ? RandomStream::kDemonstrationSeed : RandomStream::kEpisodeSeed,
      slot.environment, slot.episode);
  slot.recorder.BeginEpisode(slot.episode, seed);
  slot.recorder.BeginTrajectory();
  slot.trajectory_open = true;
  slot.chunks_in_episode = 0;
  slot.state = SlotState::kResetting;
  pool_.Submit({.environment = slot.index,
                .reset = true,
                .seed = seed,
                .observation = slot.recorder.observation()});
}

// The credit is worth nothing any more: stop as soon as possible, keep the
// episode.
void RolloutWorker::Void(EnvironmentSlot& slot) {
  if (!slot.credit.has_value()) return;
  slot.void_credit = true;
  if (slot.state != SlotState::kAwaitsAction) return;
  std::erase(ready_, &slot);
  CloseTrajectory(slot);
  HandIn(slot);
}

bool RolloutWorker::ActOnReady() {
  if (version_ < 0 || ready_.empty()) return false;
  bool acted = false;
  for (std::vector<EnvironmentSlot*> rows = NextBatch(); !rows.empty();
       rows = NextBatch()) {
    Act(rows);
    acted = true;
  }
  return acted;
}

// Takes the rows of the next batch out of `ready_`; empty if it is better to
// wait for more environments. Null rows are padding.
std::vector<EnvironmentSlot*> RolloutWorker::NextBatch() {
  if (ready_.empty()) return {};
  const bool none_coming = pool_.outstanding() == 0;
  if (!fixed_rows_) {
    if (ready_.size() < static_cast<std::size_t>(batch_rows_) && !none_coming) {
      return {};
    }
    const std::size_t count = std::min<std::size_t>(ready_.size(), batch_rows_);
    std::vector<EnvironmentSlot*> rows(ready_.begin(), ready_.begin() + count);
    ready_.erase(ready_.begin(), ready_.begin() + count);
    rows.resize(batch_rows_);
    return rows;
  }
  // Every environment has a row of its own in the batch of its group.
  const int group = ready_.front()->index / batch_rows_;
  std::vector<EnvironmentSlot*> rows(batch_rows_);
  for (EnvironmentSlot* slot : ready_) {
    if (slot->index / batch_rows_ == group) {
      rows[slot->index % batch_rows_] = slot;
    }
  }
  std::erase_if(ready_, [&](const EnvironmentSlot* slot) {
    return slot->index / batch_rows_ == group;
  });
  return rows;
}

void RolloutWorker::Act(const std::vector<EnvironmentSlot*>& rows) {
  const std::size_t chunk_elements = batch_noise_.size() / batch_rows_;
  for (int row = 0; row < batch_rows_; ++row) {
    const EnvironmentSlot* slot = rows[row];
    if (slot == nullptr) continue;
    const auto observation = rows[row]->recorder.observation();
    for (std::size_t i = 0; i < observation.size(); ++i) {
      std::memcpy(batch_observations_[i].data() + row * observation[i].size(),
                  observation[i].data(), observation[i].size());
    }
    batch_instructions_[row] = slot->instruction;
    FillNormal(
        KeyedBits(options_.job.seed, RandomStream::kActionNoise,
                  slot->environment, slot->episode, slot->chunks_in_episode),
        std::span(batch_noise_).subspan(row * chunk_elements, chunk_elements));
  }
  ActingBatch batch{.instructions = batch_instructions_,
                    .noise = batch_noise_,
                    .actions = batch_actions_,
                    .log_probability = batch_log_probability_,
                    .value = batch_value_};
  for (const auto& column : batch_observations_) {
    batch.observations.emplace_back(column);
  }
  policy_.Act(batch);
  for (int row = 0; row < batch_rows_; ++row) {
    EnvironmentSlot* slot = rows[row];
    if (slot == nullptr) continue;
    const std::span<float> actions = slot->recorder.actions();
    std::memcpy(actions.data(), batch_actions_.data() + row * chunk_elements,
                actions.size_bytes());
    slot->choice = {.value = batch_value_[row], .behavior_version = version_};
    const int chunk = options_.job.policy.action_chunk;
    const auto steps = batch_log_probability_.begin() + row * chunk;
    slot->step_log_probability.assign(steps, steps + chunk);
    SubmitChunk(*slot, ActionSource::kPolicy);
  }
}

void RolloutWorker::SubmitChunk(EnvironmentSlot& slot, ActionSource source) {
  slot.state = SlotState::kStepping;
  if (source == ActionSource::kExpert) DisturbExpert(slot);
  ++slot.chunks_in_episode;
  pool_.Submit({.environment = slot.index,
                .num_steps = options_.job.policy.action_chunk,
                .source = source,
                .actions = slot.recorder.actions(),
                .expert_noise = slot.expert_noise,
                .rewards = slot.recorder.rewards(),
                .observation = slot.recorder.next_observation()});
}

// Draws the noise of the expert's next chunk, if the job wants any.
void RolloutWorker::DisturbExpert(EnvironmentSlot& slot) {
  const double deviation = options_.job.pretraining.action_noise;
  if (deviation == 0) return;
  slot.expert_noise.resize(slot.recorder.actions().size());
  FillNormal(KeyedBits(options_.job.seed, RandomStream::kDemonstrationNoise,
                       slot.environment, slot.episode, slot.chunks_in_episode),
             slot.expert_noise);
  for (float& element : slot.expert_noise) {
    element *= static_cast<float>(deviation);
  }
}

void RolloutWorker::StepEnvironments() {
  // With threads that step, this one waits for them; without, it steps.
  ledger_.Switch(options_.job.resources.threads_per_rollout > 0
                     ? "waiting_for_environments"
                     : "busy");
  const std::size_t missing = static_cast<std::size_t>(batch_rows_) -
                              std::min<std::size_t>(ready_.size(), batch_rows_);
  results_.clear();
  pool_.Receive(std::max<std::size_t>(missing, 1), results_);
  ledger_.Switch("busy");
  for (const EnvironmentResult& result : results_) HandleResult(result);
}

void RolloutWorker::HandleResult(const EnvironmentResult& result) {
  EnvironmentSlot& slot = *slots_[result.environment];
  if (!result.status.ok()) {
    FailEpisode(slot, result.status);
    return;
  }
  const bool expert = slot.credit->kind == CreditKind::kDemonstration;
  if (slot.state == SlotState::kResetting) {
    slot.instruction = result.instruction;
    slot.episode_running = true;
  } else {
    if (!expert) {
      // Of what was executed: an episode may end inside a chunk.
      const auto steps = slot.step_log_probability.begin();
      slot.choice.log_probability =
          std::accumulate(steps, steps + result.steps_executed, 0.0f);
    }
    slot.recorder.CloseChunk(slot.choice,
                             {.steps_executed = result.steps_executed,
                              .terminated = result.terminated,
                              .truncated = result.truncated,
                              .success = result.success});
    environment_steps_ += result.steps_executed;
    --slot.chunks_left;
    if (result.terminated || result.truncated) {
      slot.episode_running = false;
      ++episodes_;
    }
  }
  const bool collected =
      expert ? !slot.episode_running : slot.chunks_left == 0 || slot.called_in;
  const bool over = collected || slot.void_credit;
  if (over || !slot.episode_running) CloseTrajectory(slot);
  if (over && expert) slot.episode_running = false;
  if (over) {
    HandIn(slot);
  } else if (expert) {
    StepExpert(slot);
  } else {
    Continue(slot);
  }
}

void RolloutWorker::StepExpert(EnvironmentSlot& slot) {
  slot.choice = {};
  SubmitChunk(slot, ActionSource::kExpert);
}

// The simulation broke: what this credit collected is not to be trusted.
void RolloutWorker::FailEpisode(EnvironmentSlot& slot,
                                const absl::Status& status) {
  ++drops_["environment_failed"];
  (void)status;
  slot.episode_running = false;
  slot.trajectory_open = false;
  slot.records.clear();
  HandIn(slot);
}

// Ends the trajectory being written, if it has any chunk yet.
void RolloutWorker::CloseTrajectory(EnvironmentSlot& slot) {
  if (!slot.trajectory_open || slot.recorder.num_chunks() == 0) return;
  slot.trajectory_open = false;
  const Credit& credit = *slot.credit;
  slot.records.emplace_back(
      slot.recorder.Finish({.worker = options_.worker,
                            .incarnation = options_.incarnation,
                            .sequence = ++sequence_,
                            .credit = credit.id,
                            .deadline = credit.deadline,
                            .environment = slot.environment},
                           slot.instruction));
}

// The credit ends here.
void RolloutWorker::HandIn(EnvironmentSlot& slot) {
  if (slot.void_credit) {
    drops_["revoked"] += static_cast<int64_t>(slot.records.size());
  } else {
    buffer_.Deliver(slot.credit->id, std::move(slot.records),
                    clock_.Now() - slot.granted);
  }
  slot.records.clear();
  slot.credit.reset();
  slot.state = SlotState::kNoCredit;
  wants_credit_.push_back(slot.environment);
}

void RolloutWorker::AskForCredits() {
  buffer_.Request(wants_credit_);
  wants_credit_.clear();
}

RolloutStatus RolloutWorker::Status() {
  RolloutStatus status{.environment_steps = environment_steps_,
                       .episodes = episodes_,
                       .policy_version = version_,
                       .drops = drops_};
  for (const auto& [reason, count] : buffer_.refused()) {
    status.drops[reason] += count;
  }
  for (const auto& [cause, seconds] : ledger_.Seconds()) {
    status.seconds_by_cause[cause] = seconds;
  }
  return status;
}

}  // namespace flywheel
