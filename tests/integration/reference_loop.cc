// The synchronous run, written down: one thread alternates collecting and
// training, without sockets, buffer, pacer or pool threads.
//
//   reference_loop CHECKPOINT_FOLDER
//
// Repeats the train steps of a checkpoint of a run with max_policy_lag 0 and
// compares everything training goes on from, bit for bit. Prints one sentence;
// exit code 0: equal.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "services/core/keyed_random.h"
#include "services/learner/batch_builder.h"
#include "services/learner/budget.h"
#include "services/learner/ppo_learner.h"
#include "services/policy/policy.h"
#include "services/policy/safetensors.h"
#include "services/rollout/inference_batch.h"
#include "services/rollout/network_policy.h"
#include "services/rollout/task_schema.h"
#include "services/rollout/trajectory_recorder.h"
#include "services/wire/checkpoint_store.h"
#include "services/wire/crc32c.h"
#include "services/wire/job_spec_codec.h"
#include "sim/task_registry.h"

namespace flywheel {
namespace {

template <typename T>
T Need(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
  std::exit(2);
}

// One environment, stepped without a pool.
class Collector {
 public:
  Collector(const JobSpec& job, uint64_t environment, ActingPolicy& policy)
      : job_(job),
        environment_(environment),
        rows_(InferenceBatch(job.resources)),
        row_(environment % job.resources.environments_per_rollout % rows_),
        policy_(policy),
        simulation_(Need(MakeEnvironment(job.task))),
        recorder_({.task = simulation_->spec(),
                   .schema = TaskSchema(simulation_->spec(), job.policy),
                   .action_chunk = job.policy.action_chunk,
                   .max_chunks = job.algorithm.unroll_length,
                   .discount = job.algorithm.discount}) {}

  // Collects one credit's worth, acting with `version`.
  void Collect(int64_t version, std::vector<MessageFrame>& records) {
    int left = job_.algorithm.unroll_length;
    while (left > 0) {
      BeginTrajectory();
      bool last = false;
      while (left > 0 && !last) {
        last = StepChunk(version);
        --left;
      }
      records.emplace_back(recorder_.Finish({.environment = environment_},
                                            simulation_->instruction()));
      if (last) running_ = false;
    }
  }

 private:
  void BeginTrajectory() {
    if (running_) {
      recorder_.BeginTrajectory();
      return;
    }
    const uint64_t seed = KeyedBits(job_.seed, RandomStream::kEpisodeSeed,
                                    environment_, next_episode_);
    simulation_->Reset(seed);
    recorder_.BeginEpisode(next_episode_, seed);
    recorder_.BeginTrajectory();
    simulation_->Observe(recorder_.observation());
    episode_ = next_episode_++;
    chunk_ = 0;
    running_ = true;
  }

  bool StepChunk(int64_t version) {
    const ChunkChoice choice = Act(version);
    ChunkOutcome outcome;
    const std::size_t size = simulation_->spec().action_size;
    for (int i = 0; i < job_.policy.action_chunk && !outcome.last(); ++i) {
      const TimeStep step =
          simulation_->Step(recorder_.actions().subspan(i * size, size));
      recorder_.rewards()[i] = static_cast<float>(step.reward);
      ++outcome.steps_executed;
      outcome.terminated = step.terminated;
      outcome.truncated = step.truncated;
      outcome.success |= step.success;
    }
    if (!outcome.terminated) simulation_->Observe(recorder_.next_observation());
    ChunkChoice executed = choice;
    executed.log_probability =
        std::accumulate(log_probability_.begin(),
                        log_probability_.begin() + outcome.steps_executed, 0.f);
    recorder_.CloseChunk(executed, outcome);
    return outcome.last();
  }

  // Acts in this environment's row of a batch whose other rows are empty.
  ChunkChoice Act(int64_t version) {
    const int chunk = job_.policy.action_chunk;
    const std::size_t elements =
        static_cast<std::size_t>(chunk) * simulation_->spec().action_size;
    std::vector<std::vector<std::byte>> columns;
    ActingBatch batch;
    for (const auto& observation : recorder_.observation()) {
      columns.emplace_back(observation.size() * rows_);
      std::memcpy(columns.back().data() + row_ * observation.size(),
                  observation.data(), observation.size());
    }
    for (const auto& column : columns) batch.observations.emplace_back(column);
    std::vector<std::string> instructions(rows_);
    instructions[row_] = simulation_->instruction();
    std::vector<float> noise(rows_ * elements);
    std::vector<float> actions(rows_ * elements);
    std::vector<float> log_probability(rows_ * chunk);
    std::vector<float> value(rows_);
    FillNormal(KeyedBits(job_.seed, RandomStream::kActionNoise, environment_,
                         episode_, ++chunk_ - 1),
               std::span(noise).subspan(row_ * elements, elements));
    batch.instructions = instructions;
    batch.noise = noise;
    batch.actions = actions;
    batch.log_probability = log_probability;
    batch.value = value;
    policy_.Act(batch);
    std::copy_n(actions.begin() + row_ * elements, elements,
                recorder_.actions().begin());
    const auto steps = log_probability.begin() + row_ * chunk;
    log_probability_.assign(steps, steps + chunk);
    return {.value = value[row_], .behavior_version = version};
  }

  const JobSpec& job_;
  const uint64_t environment_;
  const int rows_;
  const int row_;
  ActingPolicy& policy_;
  const std::unique_ptr<Environment> simulation_;
  TrajectoryRecorder recorder_;
  std::vector<float> log_probability_;  // Of the present chunk's steps.
  bool running_ = false;
  uint64_t next_episode_ = 0;
  uint64_t episode_ = 0;
  uint64_t chunk_ = 0;
};

// The state after `train_steps` train steps.
std::vector<std::byte> Train(const JobSpec& job, int64_t train_steps) {
  SetPolicyThreads(job.resources.learner_threads);
  const TaskSpec task = Need(SpecOf(job.task));
  const BatchBuilder batches =
      Need(BatchBuilder::Create(TaskSchema(task, job.policy)));
  const std::unique_ptr<PpoLearner> learner = Need(PpoLearner::Create(
      {.policy = job.policy,
       .algorithm = job.algorithm,
       .pretraining = job.pretraining,
       .shape = batches.shape(),
       .seed = job.seed,
       .device = job.resources.device,
       .checksum = [](std::span<const std::byte> b) { return Crc32c(b); }}));
  const std::unique_ptr<ActingPolicy> policy =
      Need(MakeNetworkPolicy(task, job.policy));
  std::vector<std::unique_ptr<Collector>> collectors;
  for (int e = 0; e < job.resources.environments(); ++e) {
    collectors.push_back(std::make_unique<Collector>(job, e, *policy));
  }
  const int credits_each =
      job.algorithm.batch_credits / job.resources.environments();
  Usage used;
  while (used.train_steps < train_steps) {
    if (absl::Status loaded = policy->Load(*learner->Snapshot());
        !loaded.ok()) {
      std::fprintf(stderr, "%s\n", loaded.ToString().c_str());
      std::exit(2);
    }
    std::vector<MessageFrame> records;
    for (const auto& collector : collectors) {
      for (int i = 0; i < credits_each; ++i) {
        collector->Collect(used.train_steps, records);
      }
    }
    ExperienceSummary experience;
    const TrainBatch batch =
        Need(batches.Train(records, used.train_steps, experience));
    Need(learner->Train(batch, std::min(BudgetShare(job.budget, used), 1.0)));
    ++used.train_steps;
    used.environment_steps += experience.environment_steps;
  }
  return learner->SaveState();
}

// Names the first tensor that differs; empty if none does.
std::string Difference(std::span<const std::byte> a,
                       std::span<const std::byte> b) {
  const Safetensors one = Need(SafetensorsFromBytes(a));
  const Safetensors other = Need(SafetensorsFromBytes(b));
  for (const TensorView& tensor : one.tensors) {
    const TensorView* twin = other.Find(tensor.name);
    if (twin == nullptr ||
        !std::equal(tensor.bytes.begin(), tensor.bytes.end(),
                    twin->bytes.begin(), twin->bytes.end())) {
      return tensor.name;
    }
  }
  return "";
}

int Compare(const std::string& folder) {
  const std::filesystem::path path(folder);
  const CheckpointStore store =
      Need(CheckpointStore::Open({.folder = path.parent_path().string()}));
  const Checkpoint checkpoint = Need(store.Read(path.filename().string()));
  const JobSpec job = Need(JobSpecFromBytes(checkpoint.job));
  const std::vector<std::byte> state =
      Train(job, checkpoint.manifest.train_steps);
  const std::string different = Difference(checkpoint.state, state);
  if (different.empty()) {
    std::printf("equal after %lld train steps\n",
                static_cast<long long>(checkpoint.manifest.train_steps));
    return 0;
  }
  std::printf("tensor %s differs after %lld train steps\n", different.c_str(),
              static_cast<long long>(checkpoint.manifest.train_steps));
  return 1;
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: reference_loop CHECKPOINT_FOLDER\n");
    return 2;
  }
  return flywheel::Compare(argv[1]);
}
