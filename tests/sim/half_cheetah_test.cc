#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "gtest/gtest.h"
#include "sim/mujoco_half_cheetah.h"
#include "sim/random.h"

namespace flywheel {
namespace {

constexpr std::array<float, 6> kAction = {0.5f, -0.25f, 1, -1, 0, 0.125f};

class HalfCheetahTest : public ::testing::Test {
 protected:
  void SetUp() override { Make(environment_); }

  static void Make(std::unique_ptr<Environment>& environment) {
    auto made = HalfCheetah::Make();
    ASSERT_TRUE(made.ok()) << made.status();
    environment = *std::move(made);
  }

  HalfCheetah& cheetah() { return dynamic_cast<HalfCheetah&>(*environment_); }

  // Rewards and the final observation of 50 steps, bit for bit.
  static std::vector<double> Episode(Environment& environment, uint64_t seed) {
    environment.Reset(seed);
    Random random(seed);
    std::vector<double> trace;
    for (int i = 0; i < 50; ++i) {
      std::array<float, 6> action;
      for (float& a : action) a = static_cast<float>(random.Uniform(-1, 1));
      trace.push_back(environment.Step(action).reward);
    }
    const auto end = dynamic_cast<HalfCheetah&>(environment).Observation();
    trace.insert(trace.end(), end.begin(), end.end());
    return trace;
  }

  std::unique_ptr<Environment> environment_;
};

TEST_F(HalfCheetahTest, TheSameSeedGivesTheSameBits) {
  std::unique_ptr<Environment> other;
  Make(other);
  EXPECT_EQ(Episode(*environment_, 5), Episode(*other, 5));
  EXPECT_NE(Episode(*environment_, 5), Episode(*other, 6));
}

TEST_F(HalfCheetahTest, NothingOfAnEpisodeLeaksIntoTheNext) {
  const std::vector<double> fresh = Episode(*environment_, 5);
  Episode(*environment_, 6);
  environment_->Reset(7);
  environment_->Step(kAction);  // Left midway.
  EXPECT_EQ(Episode(*environment_, 5), fresh);
}

TEST_F(HalfCheetahTest, ResetsAroundTheModelsInitialState) {
  double largest_position = 0;
  double velocity_squares = 0;
  constexpr int kResets = 200;
  for (int seed = 0; seed < kResets; ++seed) {
    environment_->Reset(seed);
    const std::vector<double> state = cheetah().Observation();
    for (int i = 0; i < 8; ++i) {
      largest_position = std::max(largest_position, std::abs(state[i]));
    }
    for (int i = 8; i < 17; ++i) velocity_squares += state[i] * state[i];
  }
  EXPECT_LE(largest_position, 0.1);
  EXPECT_GT(largest_position, 0.095);
  EXPECT_NEAR(std::sqrt(velocity_squares / (9 * kResets)), 0.1, 0.01);
}

TEST_F(HalfCheetahTest, TruncatesAtAThousandStepsAndNotBefore) {
  environment_->Reset(1);
  for (int i = 1; i < 1000; ++i) {
    ASSERT_FALSE(environment_->Step(kAction).last()) << "step " << i;
  }
  const TimeStep step = environment_->Step(kAction);
  EXPECT_TRUE(step.truncated);
  EXPECT_FALSE(step.terminated);
}

TEST_F(HalfCheetahTest, AResetMidwayStartsTheCountAnew) {
  environment_->Reset(1);
  for (int i = 0; i < 600; ++i) environment_->Step(kAction);
  environment_->Reset(2);
  for (int i = 0; i < 600; ++i) {
    ASSERT_FALSE(environment_->Step(kAction).last()) << "step " << i;
  }
}

TEST_F(HalfCheetahTest, ClipsActionsBeforeTheyCost) {
  std::unique_ptr<Environment> other;
  Make(other);
  environment_->Reset(1);
  other->Reset(1);
  const std::array<float, 6> beyond = {3, -3, 1e9f, -1e9f, 1.5f, -1.5f};
  const std::array<float, 6> bounds = {1, -1, 1, -1, 1, -1};
  EXPECT_EQ(environment_->Step(beyond).reward, other->Step(bounds).reward);
}

TEST_F(HalfCheetahTest, ObservesItsStateAsFloats) {
  environment_->Reset(3);
  std::array<float, 17> observation;
  const std::array<std::span<std::byte>, 1> columns = {
      std::as_writable_bytes(std::span(observation))};
  environment_->Observe(columns);
  const std::vector<double> state = cheetah().Observation();
  for (std::size_t i = 0; i < observation.size(); ++i) {
    EXPECT_EQ(observation[i], static_cast<float>(state[i]));
  }
}

TEST_F(HalfCheetahTest, ADivergedSimulationIsAFailureUntilReset) {
  std::array<double, 9> qpos{};
  std::array<double, 9> qvel{};
  qvel[4] = 1e12;
  cheetah().SetState(qpos, qvel);
  EXPECT_EQ(environment_->Step(kAction).status.code(),
            absl::StatusCode::kInternal);
  EXPECT_FALSE(environment_->Step(kAction).status.ok());
  environment_->Reset(1);
  EXPECT_TRUE(environment_->Step(kAction).status.ok());
}

}  // namespace
}  // namespace flywheel
