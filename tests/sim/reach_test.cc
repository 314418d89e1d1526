#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "sim/mujoco_reach.h"
#include "sim/random.h"
#include "sim/reach_scene.h"

namespace flywheel {
namespace {

constexpr std::size_t kSide = 64;

// What one observation of the task holds.
struct Observation {
  std::vector<std::byte> image = std::vector<std::byte>(kSide * kSide * 3);
  std::array<float, 12> state{};

  bool operator==(const Observation&) const = default;

  // Red, green and blue at (row, column), 0 to 255.
  std::array<int, 3> Pixel(std::size_t row, std::size_t column) const {
    std::array<int, 3> rgb{};
    for (int i = 0; i < 3; ++i) {
      rgb[i] = static_cast<int>(image[(row * kSide + column) * 3 + i]);
    }
    return rgb;
  }
};

Observation Observe(Environment& environment) {
  Observation observation;
  const std::array<std::span<std::byte>, 2> columns = {
      std::span(observation.image),
      std::as_writable_bytes(std::span(observation.state))};
  environment.Observe(columns);
  return observation;
}

// The name of a saturated color, "" for table, arm and shading.
std::string ColorName(const std::array<int, 3>& rgb) {
  constexpr int kOn = 130;
  constexpr int kOff = 90;
  const bool red = rgb[0] > kOn;
  const bool green = rgb[1] > kOn;
  if (rgb[2] > kOn) return rgb[0] < kOff && rgb[1] < kOff ? "blue" : "";
  if (rgb[2] > kOff) return "";
  if (red && green) return "yellow";
  if (red) return rgb[1] < kOff ? "red" : "";
  if (green) return rgb[0] < kOff ? "green" : "";
  return "";
}

// "reach the red cube" → "red".
std::string GoalColor(const Environment& environment) {
  const std::string& words = environment.instruction();
  const std::size_t begin = std::string("reach the ").size();
  return words.substr(begin, words.find(' ', begin) - begin);
}

struct Outcome {
  int steps = 0;
  bool success = false;
  bool truncated = false;
  double total_reward = 0;
};

template <typename ChooseAction>
Outcome RunEpisode(Environment& environment, uint64_t seed,
                   ChooseAction choose) {
  environment.Reset(seed);
  Outcome outcome;
  for (TimeStep step; !step.last();) {
    std::array<float, 3> action{};
    choose(action);
    step = environment.Step(action);
    ++outcome.steps;
    outcome.total_reward += step.reward;
    outcome.success = step.success;
    outcome.truncated = step.truncated;
  }
  return outcome;
}

class ReachTest : public ::testing::Test {
 protected:
  void SetUp() override { Make(environment_); }

  static void Make(std::unique_ptr<Environment>& environment) {
    auto made = Reach::Make();
    ASSERT_TRUE(made.ok()) << made.status();
    environment = *std::move(made);
  }

  Reach& reach() { return dynamic_cast<Reach&>(*environment_); }

  Outcome RunExpert(uint64_t seed) {
    return RunEpisode(*environment_, seed, [&](std::span<float> action) {
      environment_->ExpertAction(action);
    });
  }

  std::unique_ptr<Environment> environment_;
};

TEST_F(ReachTest, TheExpertSucceedsWellWithinTheEpisode) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Outcome outcome = RunExpert(seed);
    EXPECT_TRUE(outcome.success) << "seed " << seed;
    EXPECT_FALSE(outcome.truncated) << "seed " << seed;
    EXPECT_LE(outcome.steps, 24) << "seed " << seed;
  }
}

TEST_F(ReachTest, RandomActionsRarelySucceed) {
  Random random(1);
  int successes = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    successes += RunEpisode(*environment_, seed, [&](std::span<float> action) {
                   for (float& a : action) {
                     a = static_cast<float>(random.Uniform(-1, 1));
                   }
                 }).success;
  }
  EXPECT_LT(successes, 30);
}

TEST_F(ReachTest, ExpertActionsAreWithinTheBounds) {
  environment_->Reset(3);
  for (TimeStep step; !step.last();) {
    std::array<float, 3> action;
    environment_->ExpertAction(action);
    for (const float a : action) EXPECT_LE(std::abs(a), 1);
    step = environment_->Step(action);
  }
}

TEST_F(ReachTest, TheRewardIsProgressPlusOneForSuccess) {
  environment_->Reset(4);
  const double start = reach().Distance();
  const Outcome outcome = RunExpert(4);
  ASSERT_TRUE(outcome.success);
  EXPECT_NEAR(outcome.total_reward, 5 * (start - reach().Distance()) + 1, 1e-9);
}

TEST_F(ReachTest, SuccessTerminatesWithinFourCentimeters) {
  const Outcome outcome = RunExpert(5);
  EXPECT_TRUE(outcome.success);
  EXPECT_LT(reach().Distance(), 0.04);
}

TEST_F(ReachTest, StandingStillIsTruncatedAfterThirtyTwoSteps) {
  const Outcome outcome = RunEpisode(*environment_, 1, [](std::span<float>) {});
  EXPECT_EQ(outcome.steps, 32);
  EXPECT_TRUE(outcome.truncated);
  EXPECT_FALSE(outcome.success);
  EXPECT_NEAR(outcome.total_reward, 0, 1e-9);
}

TEST_F(ReachTest, AResetMidwayIsAsGoodAsAFreshEnvironment) {
  std::unique_ptr<Environment> fresh;
  Make(fresh);
  RunExpert(8);
  environment_->Reset(9);
  environment_->Step(std::array<float, 3>{1, 1, 1});
  environment_->Reset(10);
  fresh->Reset(10);
  for (TimeStep step; !step.last();) {
    EXPECT_EQ(Observe(*environment_), Observe(*fresh));
    std::array<float, 3> action;
    std::array<float, 3> fresh_action;
    environment_->ExpertAction(action);
    fresh->ExpertAction(fresh_action);
    EXPECT_EQ(action, fresh_action);
    step = environment_->Step(action);
    EXPECT_EQ(step.reward, fresh->Step(fresh_action).reward);
  }
}

TEST_F(ReachTest, TheGoalsColorIsWhereTheGoalIs) {
  std::map<std::string, int> episodes;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    environment_->Reset(seed);
    const std::string color = GoalColor(*environment_);
    const auto [row, column] = reach().GoalPixel();
    const Observation observation = Observe(*environment_);
    EXPECT_EQ(ColorName(observation.Pixel(static_cast<std::size_t>(row),
                                          static_cast<std::size_t>(column))),
              color)
        << environment_->instruction() << ", seed " << seed;
    ++episodes[color];
  }
  EXPECT_EQ(episodes.size(), 4u);
}

TEST_F(ReachTest, EveryObjectIsInViewWhenAnEpisodeBegins) {
  constexpr int kObjectPixelsMin = 20;  // About 5 by 5, less its shaded sides.
  for (uint64_t seed = 0; seed < 60; ++seed) {
    environment_->Reset(seed);
    const Observation observation = Observe(*environment_);
    int colored = 0;
    for (std::size_t row = 0; row < kSide; ++row) {
      for (std::size_t column = 0; column < kSide; ++column) {
        colored += !ColorName(observation.Pixel(row, column)).empty();
      }
    }
    EXPECT_GE(colored, 3 * kObjectPixelsMin) << "seed " << seed;
  }
}

TEST_F(ReachTest, TheStateFollowsFromTheJointsAlone) {
  environment_->Reset(11);
  environment_->Step(std::array<float, 3>{0.5f, -0.5f, 1});
  const auto state = Observe(*environment_).state;
  const double yaw = std::atan2(state[0], state[1]);
  const double shoulder = std::atan2(state[2], state[3]);
  const double forearm = shoulder + std::atan2(state[4], state[5]);
  const double out = reach_scene::kUpperArm * std::cos(shoulder) +
                     reach_scene::kForearm * std::cos(forearm);
  const double up = reach_scene::kShoulderZ +
                    reach_scene::kUpperArm * std::sin(shoulder) +
                    reach_scene::kForearm * std::sin(forearm);
  EXPECT_GT(state[6], 0);  // The joints move as told.
  EXPECT_LT(state[7], 0);
  EXPECT_GT(state[8], 0);
  EXPECT_NEAR(state[9], -std::sin(yaw) * out / 0.2, 1e-5);
  EXPECT_NEAR(state[10], std::cos(yaw) * out / 0.2 - 1, 1e-5);
  EXPECT_NEAR(state[11], up / 0.2 - 1, 1e-5);
}

TEST_F(ReachTest, InstructionsNameEveryKindOfObject) {
  std::set<std::string> instructions;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    environment_->Reset(seed);
    instructions.insert(environment_->instruction());
  }
  EXPECT_EQ(instructions.size(), 12u);
  EXPECT_EQ(instructions.count("reach the red cube"), 1u);
  EXPECT_EQ(instructions.count("reach the yellow cylinder"), 1u);
}

}  // namespace
}  // namespace flywheel
