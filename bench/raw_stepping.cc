// What the environment pool costs: environment steps per second of plain
// MuJoCo beside those of the pool, and frames per second of rendering.
//
//   raw_stepping [threads=1] [rounds=5] [seconds_per_round=0.5]
//
// One JSON line per measurement. Both sides step under random controls of half
// range and take turns, since other work on the machine would favor one of
// them; the line has the median round. `share` compares them by the clock on
// the wall, `cpu_share` by processor time of all threads, which other work
// disturbs less. Threads 0 is the pool that steps in the calling thread, beside
// plain MuJoCo on one.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "sim/environment_pool.h"
#include "sim/mujoco_half_cheetah.h"
#include "sim/mujoco_model.h"
#include "sim/mujoco_reach.h"
#include "sim/pool_drain.h"
#include "sim/random.h"
#include "sim/task_registry.h"

namespace flywheel {
namespace {

constexpr int kEnvironmentsPerThread = 16;

struct Options {
  int threads = 1;
  int rounds = 5;
  double seconds = 0.5;  // Of one round of one side.
};

// Environment steps or frames of one round.
struct Rate {
  double per_second = 0;
  double per_cpu_second = 0;  // Of all threads of this process.
};
using Measure = std::function<Rate()>;

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         start_)
        .count();
  }

  Rate RateOf(long count) const {
    const double cpu_seconds =
        static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC;
    return {.per_second = static_cast<double>(count) / Seconds(),
            .per_cpu_second = static_cast<double>(count) / cpu_seconds};
  }

 private:
  const std::chrono::steady_clock::time_point start_ =
      std::chrono::steady_clock::now();
  const std::clock_t cpu_start_ = std::clock();
};

template <typename T>
T OrDie(absl::StatusOr<T> made) {
  if (made.ok()) return *std::move(made);
  std::fprintf(stderr, "raw_stepping: %s\n", made.status().ToString().c_str());
  std::exit(1);  // NOLINT(concurrency-mt-unsafe): one thread so far.
}

// One thread's share: as many simulations in turn as the pool has for it, so
// that caches hold as little, `frame_skip` physics steps at a time.
long StepPlainly(const mjModel& model, int frame_skip, double seconds) {
  std::vector<MujocoData> simulations;
  simulations.reserve(kEnvironmentsPerThread);
  for (int i = 0; i < kEnvironmentsPerThread; ++i) {
    simulations.emplace_back(mj_makeData(&model));
  }
  Random random(1);
  const Stopwatch watch;
  long steps = 0;
  while (watch.Seconds() < seconds) {
    for (const MujocoData& data : simulations) {
      for (int j = 0; j < model.nu; ++j) {
        data->ctrl[j] = random.Uniform(-0.5, 0.5);
      }
      for (int j = 0; j < frame_skip; ++j) mj_step(&model, data.get());
      ++steps;
    }
  }
  return steps;
}

Rate PlainRate(const mjModel& model, int frame_skip, int threads,
               double seconds) {
  std::vector<long> steps(threads);
  const Stopwatch watch;
  {
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    for (long& mine : steps) {
      workers.emplace_back(
          [&] { mine = StepPlainly(model, frame_skip, seconds); });
    }
  }
  long sum = 0;
  for (const long mine : steps) sum += mine;
  return watch.RateOf(sum);
}

// Keeps every environment of a pool busy with one step at a time, as a policy
// does that is queried at every step. Nothing is rendered.
class PoolDriver {
 public:
  explicit PoolDriver(const EnvironmentPool::Options& options)
      : pool_(OrDie(EnvironmentPool::Create(options))),
        rewards_(options.num_environments),
        actions_(options.num_environments,
                 std::vector<float>(pool_->spec().action_size)) {
    for (int i = 0; i < options.num_environments; ++i) Submit(i, true);
  }

  Rate Drive(double seconds) {
    const Stopwatch watch;
    long steps = 0;
    while (watch.Seconds() < seconds) {
      results_.clear();
      pool_->Receive(kEnvironmentsPerThread / 2, results_);
      for (const EnvironmentResult& result : results_) {
        steps += result.steps_executed;
        Submit(result.environment, result.terminated || result.truncated);
      }
    }
    return watch.RateOf(steps);
  }

 private:
  void Submit(int environment, bool reset) {
    for (float& a : actions_[environment]) {
      a = static_cast<float>(random_.Uniform(-0.5, 0.5));
    }
    pool_->Submit({.environment = environment,
                   .reset = reset,
                   .seed = random_.Bits(),
                   .num_steps = 1,
                   .actions = actions_[environment],
                   .rewards = std::span(&rewards_[environment], 1)});
  }

  Random random_{1};
  std::unique_ptr<EnvironmentPool> pool_;
  std::vector<float> rewards_;
  std::vector<std::vector<float>> actions_;
  std::vector<EnvironmentResult> results_;
  PoolDrain drain_{*pool_};  // Last: requests write into what is above.
};

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The median of each measure, which take turns.
std::vector<Rate> Medians(const std::vector<Measure>& measures, int rounds) {
  std::vector<std::vector<double>> wall(measures.size());
  std::vector<std::vector<double>> cpu(measures.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < measures.size(); ++i) {
      const Rate rate = measures[i]();
      wall[i].push_back(rate.per_second);
      cpu[i].push_back(rate.per_cpu_second);
    }
  }
  std::vector<Rate> medians(measures.size());
  for (std::size_t i = 0; i < measures.size(); ++i) {
    medians[i] = {Median(wall[i]), Median(cpu[i])};
  }
  return medians;
}

void CompareStepping(const std::string& task, const MujocoModel& model,
                     int frame_skip, int threads, const Options& options) {
  const int working = std::max(threads, 1);
  PoolDriver pool({.task = task,
                   .num_environments = working * kEnvironmentsPerThread,
                   .num_threads = threads});
  const std::vector<Rate> rates = Medians(
      {[&] { return PlainRate(*model, frame_skip, working, options.seconds); },
       [&] { return pool.Drive(options.seconds); }},
      options.rounds);
  const Rate plain = rates[0];
  const Rate pooled = rates[1];
  std::printf(
      "{\"bench\":\"raw_stepping\",\"task\":\"%s\",\"threads\":%d,"
      "\"environment_steps_per_second\":%.0f,"
      "\"pool_environment_steps_per_second\":%.0f,\"share\":%.3f,\"cpu_share\":"
      "%.3f,"
      "\"environment_steps_per_cpu_second\":%.0f}\n",
      task.c_str(), threads, plain.per_second, pooled.per_second,
      pooled.per_second / plain.per_second,
      pooled.per_cpu_second / plain.per_cpu_second, plain.per_cpu_second);
}

void MeasureRendering(const std::string& task, const Options& options) {
  const std::unique_ptr<Environment> environment = OrDie(MakeEnvironment(task));
  std::vector<std::vector<std::byte>> memory;
  for (const ObservationSpec& column : environment->spec().observations) {
    memory.emplace_back(column.bytes());
  }
  const std::vector<std::span<std::byte>> columns(memory.begin(), memory.end());
  environment->Reset(1);
  environment->Observe(columns);  // Makes the renderer.
  const Measure measure = [&] {
    const Stopwatch watch;
    long frames = 0;
    for (; watch.Seconds() < options.seconds; ++frames) {
      environment->Observe(columns);
    }
    return watch.RateOf(frames);
  };
  const Rate rate = Medians({measure}, options.rounds)[0];
  std::printf(
      "{\"bench\":\"rendering\",\"task\":\"%s\",\"threads\":1,"
      "\"frames_per_second\":%.0f,\"frames_per_cpu_second\":%.0f}\n",
      task.c_str(), rate.per_second, rate.per_cpu_second);
}

int Main(const Options& options) {
  const MujocoModel cheetah = OrDie(HalfCheetah::LoadModel());
  const MujocoModel reach = OrDie(Reach::LoadModel());
  for (const int threads : {0, options.threads}) {
    CompareStepping("gymnasium:HalfCheetah-v5", cheetah,
                    HalfCheetah::kFrameSkip, threads, options);
    CompareStepping("tabletop/reach", reach, Reach::kFrameSkip, threads,
                    options);
  }
  MeasureRendering("tabletop/reach", options);
  return 0;
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  flywheel::Options options;
  if (argc > 1) options.threads = std::max(1, std::atoi(argv[1]));
  if (argc > 2) options.rounds = std::max(1, std::atoi(argv[2]));
  if (argc > 3) options.seconds = std::max(0.01, std::atof(argv[3]));
  return flywheel::Main(options);
}
