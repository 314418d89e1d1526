#include "sim/execute_request.h"

#include <cmath>
#include <cstring>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "tests/sim/fake_environment.h"
#include "tests/sim/request_buffers.h"

namespace flywheel {
namespace {

class ExecuteRequestTest : public ::testing::Test {
 protected:
  float Observed() const {
    float value = 0;
    std::memcpy(&value, buffers_.columns[0].data(), sizeof(value));
    return value;
  }

  FakeEnvironment environment_;
  RequestBuffers buffers_{FakeEnvironment::Spec(), 3};
};

TEST_F(ExecuteRequestTest, ResetsThenStepsThenObserves) {
  buffers_.actions = {1, 2, 3, 4, 5, 6};
  const EnvironmentResult result =
      ExecuteRequest(environment_, buffers_.ResetRequest(7, 42));
  EXPECT_TRUE(result.status.ok()) << result.status;
  EXPECT_EQ(result.environment, 7);
  EXPECT_EQ(result.steps_executed, 3);
  EXPECT_EQ(result.instruction, "count to 42");
  EXPECT_EQ(buffers_.rewards, std::vector<float>({3, 7, 11}));
  EXPECT_EQ(Observed(), 3);
}

TEST_F(ExecuteRequestTest, WithoutStepsOnlyObserves) {
  environment_.Reset(1);
  EnvironmentRequest request = buffers_.StepRequest(0);
  request.num_steps = 0;
  const EnvironmentResult result = ExecuteRequest(environment_, request);
  EXPECT_EQ(result.steps_executed, 0);
  EXPECT_FALSE(result.terminated || result.truncated);
  EXPECT_EQ(Observed(), 0);
}

TEST_F(ExecuteRequestTest, NoiseDisturbsWhatTheExpertDoesNotWhatItShows) {
  environment_.Reset(1);
  const std::vector<float> noise = {1, 0, 0, 2, 0, 0};
  EnvironmentRequest request = buffers_.StepRequest(0);
  request.source = ActionSource::kExpert;
  request.expert_noise = noise;
  ExecuteRequest(environment_, request);
  EXPECT_EQ(buffers_.actions, std::vector<float>(6, 0.25f));
  EXPECT_EQ(buffers_.rewards, std::vector<float>({1.5f, 2.5f, 0.5f}));
}

TEST_F(ExecuteRequestTest, StopsWhereTheEpisodeEnds) {
  environment_.Reset(1);
  ExecuteRequest(environment_, buffers_.StepRequest(0));
  const EnvironmentResult result =
      ExecuteRequest(environment_, buffers_.StepRequest(0));
  EXPECT_EQ(result.steps_executed, 2);
  EXPECT_TRUE(result.truncated);
  EXPECT_FALSE(result.terminated);
  EXPECT_EQ(Observed(), 5);  // A truncated episode still has a value.
}

TEST_F(ExecuteRequestTest, ATerminalStepIsObservedOnlyOnRequest) {
  environment_.terminates_at_step = 2;
  EnvironmentRequest request = buffers_.ResetRequest(0, 1);
  EXPECT_TRUE(ExecuteRequest(environment_, request).terminated);
  EXPECT_EQ(Observed(), 0);
  request.observe_terminated = true;
  EXPECT_TRUE(ExecuteRequest(environment_, request).terminated);
  EXPECT_EQ(Observed(), 2);
}

TEST_F(ExecuteRequestTest, RemembersASuccessBeforeTheLastStep) {
  environment_.succeeds_at_step = 1;
  EXPECT_TRUE(
      ExecuteRequest(environment_, buffers_.ResetRequest(0, 1)).success);
}

TEST_F(ExecuteRequestTest, TheExpertWritesItsActions) {
  EnvironmentRequest request = buffers_.ResetRequest(0, 1);
  request.source = ActionSource::kExpert;
  EXPECT_TRUE(ExecuteRequest(environment_, request).status.ok());
  EXPECT_EQ(buffers_.actions, std::vector<float>(6, 0.25f));
  EXPECT_EQ(buffers_.rewards, std::vector<float>(3, 0.5f));
}

TEST_F(ExecuteRequestTest, AFailedSimulationIsNamedAndNotObserved) {
  environment_.fails_at_step = 2;
  const EnvironmentResult result =
      ExecuteRequest(environment_, buffers_.ResetRequest(3, 1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(result.status.message(),
            "fake: environment 3, step 1 of the request: the simulation "
            "diverged");
  EXPECT_EQ(result.steps_executed, 1);
  EXPECT_EQ(Observed(), 0);
}

TEST_F(ExecuteRequestTest, AnInfiniteRewardIsAFailure) {
  environment_.infinite_at_step = 1;
  const EnvironmentResult result =
      ExecuteRequest(environment_, buffers_.ResetRequest(0, 1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(result.status.message(),
                                "the reward must be finite, got inf"))
      << result.status;
}

TEST_F(ExecuteRequestTest, AnActionThatIsNotFiniteNeverReachesTheSimulation) {
  buffers_.actions[3] = std::nanf("");
  const EnvironmentResult result =
      ExecuteRequest(environment_, buffers_.ResetRequest(0, 1));
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(result.status.message(),
            "fake: environment 0, step 1 of the request: action[1] must be "
            "finite, got nan");
  EXPECT_EQ(result.steps_executed, 1);
}

TEST_F(ExecuteRequestTest, AResetHealsAFailedEnvironment) {
  environment_.fails_at_step = 1;
  ASSERT_FALSE(
      ExecuteRequest(environment_, buffers_.ResetRequest(0, 1)).status.ok());
  environment_.fails_at_step = -1;
  EXPECT_TRUE(
      ExecuteRequest(environment_, buffers_.ResetRequest(0, 1)).status.ok());
}

}  // namespace
}  // namespace flywheel
