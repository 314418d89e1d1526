// What a pool returns does not depend on its number of threads.

#include <memory>
#include <vector>

#include "gtest/gtest.h"
#include "sim/environment_pool.h"
#include "sim/random.h"
#include "tests/sim/request_buffers.h"

namespace flywheel {
namespace {

constexpr int kEnvironments = 5;
constexpr int kChunks = 12;
constexpr int kStepsPerChunk = 3;

// All that one environment gave, in order.
struct Trace {
  std::vector<float> rewards;
  std::vector<std::vector<std::byte>> observations;
  std::vector<int> steps_executed;
  std::vector<std::string> instructions;

  bool operator==(const Trace&) const = default;
};

// Drives one environment through chunks of random actions, resetting where
// episodes end. The next request depends on the environment alone.
class Driver {
 public:
  Driver(const TaskSpec& spec, int environment)
      : environment_(environment),
        buffers_(spec, kStepsPerChunk),
        random_(environment) {}

  bool done() const { return chunks_ == kChunks; }

  EnvironmentRequest Next() {
    for (float& a : buffers_.actions) {
      a = static_cast<float>(random_.Uniform(-1, 1));
    }
    EnvironmentRequest request =
        over_ ? buffers_.ResetRequest(environment_, random_.Bits())
              : buffers_.StepRequest(environment_);
    request.observe_terminated = true;
    return request;
  }

  void Take(const EnvironmentResult& result) {
    ASSERT_TRUE(result.status.ok()) << result.status;
    ++chunks_;
    over_ = result.terminated || result.truncated;
    trace.rewards.insert(trace.rewards.end(), buffers_.rewards.begin(),
                         buffers_.rewards.begin() + result.steps_executed);
    trace.steps_executed.push_back(result.steps_executed);
    trace.instructions.push_back(result.instruction);
    for (const auto& column : buffers_.columns) {
      trace.observations.push_back(column);
    }
  }

  Trace trace;

 private:
  const int environment_;
  RequestBuffers buffers_;
  Random random_;
  bool over_ = true;
  int chunks_ = 0;
};

std::vector<Trace> RunPool(const std::string& task, int num_threads) {
  auto pool = EnvironmentPool::Create({.task = task,
                                       .num_environments = kEnvironments,
                                       .num_threads = num_threads});
  EXPECT_TRUE(pool.ok()) << pool.status();
  if (!pool.ok()) return {};
  std::vector<std::unique_ptr<Driver>> drivers;
  for (int i = 0; i < kEnvironments; ++i) {
    drivers.push_back(std::make_unique<Driver>((*pool)->spec(), i));
    (*pool)->Submit(drivers[i]->Next());
  }
  std::vector<EnvironmentResult> results;
  while ((*pool)->outstanding() > 0) {
    results.clear();
    (*pool)->Receive(1, results);
    for (const EnvironmentResult& result : results) {
      Driver& driver = *drivers[result.environment];
      driver.Take(result);
      if (!driver.done()) (*pool)->Submit(driver.Next());
    }
  }
  std::vector<Trace> traces(kEnvironments);
  for (int i = 0; i < kEnvironments; ++i) traces[i] = drivers[i]->trace;
  return traces;
}

class PoolModesTest : public ::testing::TestWithParam<const char*> {};

TEST_P(PoolModesTest, ThreadsChangeNoBit) {
  const std::vector<Trace> without = RunPool(GetParam(), 0);
  ASSERT_EQ(without.size(), static_cast<std::size_t>(kEnvironments));
  EXPECT_EQ(without[0].steps_executed.size(), std::size_t{kChunks});
  EXPECT_NE(without[0], without[1]);
  EXPECT_EQ(RunPool(GetParam(), 1), without);
  EXPECT_EQ(RunPool(GetParam(), 3), without);
}

INSTANTIATE_TEST_SUITE_P(Tasks, PoolModesTest,
                         ::testing::Values("gymnasium:HalfCheetah-v5",
                                           "tabletop/reach"));

}  // namespace
}  // namespace flywheel
