#include "services/learner/advantages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace flywheel {
namespace {

// Owns what a ValueProblem looks at.
struct Sample {
  std::vector<float> reward;
  std::vector<int32_t> steps_executed;
  std::vector<float> value;
  std::vector<int64_t> num_chunks;
  std::vector<TrajectoryEnd> end;
  std::vector<float> final_value;
  std::vector<float> log_ratio;
  double discount = 0.9;
  double lambda = 0.8;

  ValueProblem problem() const {
    return {.reward = reward,
            .steps_executed = steps_executed,
            .value = value,
            .num_chunks = num_chunks,
            .end = end,
            .final_value = final_value,
            .discount = discount,
            .lambda = lambda};
  }
};

Sample ThreeSteps(TrajectoryEnd end) {
  return {.reward = {1, 2, 3},
          .steps_executed = {1, 1, 1},
          .value = {10, 20, 30},
          .num_chunks = {3},
          .end = {end},
          .final_value = {40},
          .log_ratio = {0, 0, 0}};
}

Sample RandomSample(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Sample sample;
  for (int trajectory = 0; trajectory < 20; ++trajectory) {
    sample.num_chunks.push_back(1 + random() % 12);
    sample.end.push_back(static_cast<TrajectoryEnd>(random() % 3));
    sample.final_value.push_back(normal(random));
    for (int64_t i = 0; i < sample.num_chunks.back(); ++i) {
      sample.reward.push_back(normal(random));
      sample.steps_executed.push_back(1 + random() % 4);
      sample.value.push_back(normal(random));
      sample.log_ratio.push_back(0.5f * normal(random));
    }
  }
  return sample;
}

// The definitions, as sums over what comes after: quadratic, but plain.
//   v_t = V_t + sum_u (prod_{t<=i<u} discount_i c_i) rho_u delta_u
ValueTargets ByDefinition(const Sample& sample, const VtraceLimits& limits) {
  ValueTargets targets;
  int64_t begin = 0;
  for (std::size_t k = 0; k < sample.num_chunks.size(); ++k) {
    const int64_t end = begin + sample.num_chunks[k];
    const auto discount = [&](int64_t i) {
      return std::pow(sample.discount, sample.steps_executed[i]);
    };
    const auto ratio = [&](int64_t i) { return std::exp(sample.log_ratio[i]); };
    const auto delta = [&](int64_t i) {
      const double bootstrap = sample.end[k] == TrajectoryEnd::kTerminated
                                   ? 0
                                   : sample.final_value[k];
      const double next = i + 1 < end ? sample.value[i + 1] : bootstrap;
      return sample.reward[i] + discount(i) * next - sample.value[i];
    };
    const auto gap = [&](int64_t t) {
      double sum = 0;
      double weight = 1;
      for (int64_t u = t; u < end; ++u) {
        sum += weight * std::min<double>(limits.rho_max, ratio(u)) * delta(u);
        weight *= discount(u) * sample.lambda *
                  std::min<double>(limits.c_max, ratio(u));
      }
      return sum;
    };
    for (int64_t t = begin; t < end; ++t) {
      const double next_gap = t + 1 < end ? gap(t + 1) : 0;
      targets.value_target.push_back(
          static_cast<float>(sample.value[t] + gap(t)));
      targets.advantage.push_back(static_cast<float>(
          delta(t) + discount(t) * sample.lambda * next_gap));
    }
    begin = end;
  }
  return targets;
}

void ExpectNear(const std::vector<float>& actual,
                const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_NEAR(actual[i], expected[i], tolerance) << "chunk " << i;
  }
}

// delta = {1 + 18 - 10, 2 + 27 - 20, 3 + 0 - 30} = {9, 9, -27};
// A_2 = -27, A_1 = 9 - 0.72 * 27 = -10.44, A_0 = 9 - 0.72 * 10.44 = 1.4832.
TEST(GaeTest, AgreesWithTheTableOfATerminatedTrajectory) {
  const ValueTargets targets =
      GaeTargets(ThreeSteps(TrajectoryEnd::kTerminated).problem());
  ExpectNear(targets.advantage, {1.4832f, -10.44f, -27.0f}, 1e-5);
  ExpectNear(targets.value_target, {11.4832f, 9.56f, 3.0f}, 1e-5);
}

// Now delta_2 = 3 + 36 - 30 = 9: A_1 = 9 + 0.72 * 9, A_0 = 9 + 0.72 * 15.48.
TEST(GaeTest, BootstrapsWhereTheEpisodeWasStoppedOrGoesOn) {
  for (const TrajectoryEnd end :
       {TrajectoryEnd::kTruncated, TrajectoryEnd::kCut}) {
    const ValueTargets targets = GaeTargets(ThreeSteps(end).problem());
    ExpectNear(targets.advantage, {20.1456f, 15.48f, 9.0f}, 1e-5);
  }
}

TEST(GaeTest, DiscountsAChunkByItsExecutedSteps) {
  Sample sample = ThreeSteps(TrajectoryEnd::kCut);
  sample.steps_executed = {1, 1, 3};
  // delta_2 = 3 + 0.729 * 40 - 30 = 2.16.
  const ValueTargets targets = GaeTargets(sample.problem());
  ExpectNear(targets.advantage,
             {9 + 0.72f * (9 + 0.72f * 2.16f), 9 + 0.72f * 2.16f, 2.16f}, 1e-5);
}

TEST(GaeTest, WithLambdaOneIsTheDiscountedReturn) {
  Sample sample = ThreeSteps(TrajectoryEnd::kTerminated);
  sample.lambda = 1;
  ExpectNear(GaeTargets(sample.problem()).value_target,
             {1 + 0.9f * (2 + 0.9f * 3), 2 + 0.9f * 3, 3}, 1e-5);
}

TEST(GaeTest, KeepsTrajectoriesApart) {
  Sample both = ThreeSteps(TrajectoryEnd::kTerminated);
  const Sample other = ThreeSteps(TrajectoryEnd::kCut);
  both.reward.insert(both.reward.end(), other.reward.begin(),
                     other.reward.end());
  both.steps_executed.insert(both.steps_executed.end(), 3, 1);
  both.value.insert(both.value.end(), other.value.begin(), other.value.end());
  both.num_chunks.push_back(3);
  both.end.push_back(TrajectoryEnd::kCut);
  both.final_value.push_back(40);
  ExpectNear(GaeTargets(both.problem()).advantage,
             {1.4832f, -10.44f, -27.0f, 20.1456f, 15.48f, 9.0f}, 1e-5);
}

TEST(GaeTest, AgreesWithItsDefinition) {
  Sample sample = RandomSample(17);
  std::fill(sample.log_ratio.begin(), sample.log_ratio.end(), 0.0f);
  const ValueTargets expected = ByDefinition(sample, {});
  const ValueTargets targets = GaeTargets(sample.problem());
  ExpectNear(targets.advantage, expected.advantage, 1e-5);
  ExpectNear(targets.value_target, expected.value_target, 1e-5);
}

TEST(VtraceTest, AgreesWithItsDefinition) {
  const Sample sample = RandomSample(23);
  for (const VtraceLimits limits :
       {VtraceLimits{}, VtraceLimits{.rho_max = 2, .c_max = 1.5},
        VtraceLimits{.rho_max = 1e9, .c_max = 0.1}}) {
    const ValueTargets expected = ByDefinition(sample, limits);
    const ValueTargets targets =
        VtraceTargets(sample.problem(), sample.log_ratio, limits);
    ExpectNear(targets.advantage, expected.advantage, 1e-5);
    ExpectNear(targets.value_target, expected.value_target, 1e-5);
  }
}

TEST(VtraceTest, OnPolicyIsGae) {
  Sample sample = RandomSample(29);
  std::fill(sample.log_ratio.begin(), sample.log_ratio.end(), 0.0f);
  const ValueTargets gae = GaeTargets(sample.problem());
  const ValueTargets vtrace =
      VtraceTargets(sample.problem(), sample.log_ratio, {});
  EXPECT_EQ(vtrace.advantage, gae.advantage);
  EXPECT_EQ(vtrace.value_target, gae.value_target);
}

// Ratios 0.5, 2, 0.5 clip to rho = c / 0.8 = {0.5, 1, 0.5}. From the back, with
// delta = {9, 9, -27}: gap_2 = -13.5; gap_1 = 9 - 0.72 * 13.5 = -0.72;
// gap_0 = 4.5 - 0.36 * 0.72 = 4.2408.
TEST(VtraceTest, AgreesWithTheTableOfUnequalRatios) {
  Sample sample = ThreeSteps(TrajectoryEnd::kTerminated);
  sample.log_ratio = {std::log(0.5f), std::log(2.0f), std::log(0.5f)};
  const ValueTargets targets =
      VtraceTargets(sample.problem(), sample.log_ratio, {});
  ExpectNear(targets.value_target, {14.2408f, 19.28f, 16.5f}, 1e-5);
  ExpectNear(targets.advantage, {9 - 0.72f * 0.72f, 9 - 0.72f * 13.5f, -27.0f},
             1e-5);
}

TEST(VtraceTest, ForgetsWhatTheTargetPolicyWouldNeverDo) {
  Sample sample = ThreeSteps(TrajectoryEnd::kTerminated);
  sample.log_ratio = {0, -100, 0};
  const ValueTargets targets =
      VtraceTargets(sample.problem(), sample.log_ratio, {});
  EXPECT_NEAR(targets.value_target[1], 20, 1e-5);
  EXPECT_NEAR(targets.value_target[0], 19, 1e-5);
}

TEST(VtraceTest, SurvivesRatiosBeyondFloat) {
  Sample sample = ThreeSteps(TrajectoryEnd::kCut);
  sample.log_ratio = {100, 200, 1000};
  const ValueTargets gae = GaeTargets(sample.problem());
  EXPECT_EQ(VtraceTargets(sample.problem(), sample.log_ratio, {}).value_target,
            gae.value_target);
}

}  // namespace
}  // namespace flywheel
