// What acting and training cost, one JSON line per result, on one thread:
// seconds of one call of Policy::Act() for the shapes of both examples, and
// chunks per second of imitation and of whole train steps. The rate of torch's
// own matrix product stands beside them: nothing here can be faster.

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "services/core/keyed_random.h"
#include "services/learner/ppo_learner.h"
#include "services/policy/instruction_tokenizer.h"
#include "services/policy/policy.h"

namespace flywheel {
namespace {

struct Example {
  std::string name;
  PpoLearner::Options options;
  int64_t train_chunks = 0;
};

std::vector<Example> Examples() {
  const PpoLearner::Options half_cheetah = {
      .policy = {.hidden_sizes = {64, 64}},
      .algorithm = {.epochs = 4, .minibatches = 4},
      .shape = {.state_size = 17, .action_size = 6},
      .device = "cpu"};
  const PpoLearner::Options reach = {
      .policy = {.kind = "tiny_vla", .action_chunk = 4},
      .algorithm = {.epochs = 4, .minibatches = 4},
      .shape = {.state_size = 11,
                .image = {64, 64, 3},
                .action_chunk = 4,
                .action_size = 3,
                .has_instruction = true},
      .device = "cpu"};
  return {{"mlp_gaussian", half_cheetah, 2048}, {"tiny_vla", reach, 256}};
}

// Seconds that one call takes: the best of five rounds of at least 100 ms,
// since others may use the machine.
double SecondsOf(const std::function<void()>& call) {
  using Clock = std::chrono::steady_clock;
  call();
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const auto start = Clock::now();
    int calls = 0;
    double spent = 0;
    while (spent < 0.1) {
      call();
      ++calls;
      spent = std::chrono::duration<double>(Clock::now() - start).count();
    }
    best = std::min(best, spent / calls);
  }
  return best;
}

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  std::exit(1);
}

std::vector<float> Noise(int64_t count) {
  std::vector<float> noise(count);
  FillNormal(1, noise);
  return noise;
}

TrainBatch MakeTrainBatch(const PolicyShape& shape, int64_t chunks) {
  TrainBatch batch;
  const int64_t trajectories = chunks / 32;
  const auto images = [&](int64_t n) {
    return torch::zeros({n, shape.image[0], shape.image[1], shape.image[2]},
                        torch::kUInt8);
  };
  batch.state = torch::randn({chunks, shape.state_size});
  batch.final_state = torch::randn({trajectories, shape.state_size});
  if (shape.has_image()) {
    batch.image = images(chunks);
    batch.final_image = images(trajectories);
  }
  batch.action = torch::randn({chunks, shape.action_chunk, shape.action_size});
  batch.behavior_log_probability.assign(
      chunks,
      -1.5f * static_cast<float>(shape.action_chunk * shape.action_size));
  batch.behavior_value.assign(chunks, 0);
  batch.steps_executed.assign(chunks, static_cast<int32_t>(shape.action_chunk));
  batch.behavior_version.assign(chunks, 0);
  batch.reward = Noise(chunks * shape.action_chunk);
  batch.num_chunks.assign(trajectories, 32);
  batch.end.assign(trajectories, TrajectoryEnd::kCut);
  batch.running_return.assign(trajectories, 0);
  return batch;
}

void BenchActing(const Example& example, const PpoLearner& learner,
                 int64_t rows) {
  const PolicyShape& shape = example.options.shape;
  const std::unique_ptr<Policy> policy =
      *Policy::Create(example.options.policy, shape);
  Require(policy->Load(*learner.Snapshot()));
  const int64_t steps = rows * shape.action_chunk;
  const std::vector<std::byte> image(rows * shape.image_bytes());
  const std::vector<float> state = Noise(rows * shape.state_size);
  const std::vector<std::string> instructions(rows, "reach the red cube");
  const std::vector<float> noise = Noise(steps * shape.action_size);
  std::vector<float> actions(noise.size());
  std::vector<float> log_probability(steps);
  std::vector<float> value(rows);
  const double seconds = SecondsOf([&] {
    policy->Act({.rows = rows,
                 .image = image,
                 .state = state,
                 .instructions = instructions,
                 .noise = noise,
                 .actions = actions,
                 .log_probability = log_probability,
                 .value = value});
  });
  std::printf(
      "{\"bench\": \"act\", \"policy\": \"%s\", \"rows\": %lld, "
      "\"microseconds\": %.1f, \"rows_per_second\": %.0f}\n",
      example.name.c_str(), static_cast<long long>(rows), seconds * 1e6,
      static_cast<double>(rows) / seconds);
}

void BenchImitation(const Example& example, PpoLearner& learner,
                    int64_t chunks) {
  const PolicyShape& shape = example.options.shape;
  ImitationBatch batch;
  batch.state = torch::randn({chunks, shape.state_size});
  if (shape.has_image()) {
    batch.image =
        torch::zeros({chunks, shape.image[0], shape.image[1], shape.image[2]},
                     torch::kUInt8);
    batch.instruction =
        torch::ones({chunks, kInstructionTokens}, torch::kInt64);
  }
  batch.action = torch::randn({chunks, shape.action_chunk, shape.action_size});
  batch.steps_executed.assign(chunks, static_cast<int32_t>(shape.action_chunk));
  const double seconds =
      SecondsOf([&] { Require(learner.Imitate(batch, 0.5).status()); });
  std::printf(
      "{\"bench\": \"imitate\", \"policy\": \"%s\", \"chunks\": %lld, "
      "\"milliseconds\": %.2f, \"chunks_per_second\": %.0f}\n",
      example.name.c_str(), static_cast<long long>(chunks), seconds * 1e3,
      static_cast<double>(chunks) / seconds);
}

void BenchTraining(const Example& example, PpoLearner& learner) {
  const TrainBatch batch =
      MakeTrainBatch(example.options.shape, example.train_chunks);
  const double seconds =
      SecondsOf([&] { Require(learner.Train(batch, 0.5).status()); });
  const double chunks = static_cast<double>(example.train_chunks);
  std::printf(
      "{\"bench\": \"train_step\", \"policy\": \"%s\", \"chunks\": %.0f, "
      "\"epochs\": %d, \"minibatches\": %d, \"milliseconds\": %.2f, "
      "\"chunks_per_second\": %.0f, \"trained_per_second\": %.0f}\n",
      example.name.c_str(), chunks, example.options.algorithm.epochs,
      example.options.algorithm.minibatches, seconds * 1e3, chunks / seconds,
      chunks * example.options.algorithm.epochs / seconds);
}

void BenchMatrixProduct() {
  const torch::Tensor a = torch::randn({1024, 1024});
  const torch::Tensor b = torch::randn({1024, 1024});
  torch::Tensor c = torch::empty({1024, 1024});
  const double seconds = SecondsOf([&] { torch::mm_out(c, a, b); });
  std::printf(
      "{\"bench\": \"matrix_product\", \"size\": 1024, \"gflop_per_second\": "
      "%.1f}\n",
      2.0 * 1024 * 1024 * 1024 / seconds * 1e-9);
}

int Main() {
  SetPolicyThreads(1);
  BenchMatrixProduct();
  for (const Example& example : Examples()) {
    const std::unique_ptr<PpoLearner> learner =
        *PpoLearner::Create(example.options);
    for (const int64_t rows : {1, 16, 32, 64, 128}) {
      BenchActing(example, *learner, rows);
    }
    for (const int64_t chunks : {64, 128}) {
      BenchImitation(example, *learner, chunks);
    }
    BenchTraining(example, *learner);
  }
  return 0;
}

}  // namespace
}  // namespace flywheel

int main() { return flywheel::Main(); }
