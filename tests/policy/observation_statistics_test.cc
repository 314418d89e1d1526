#include "services/policy/observation_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace flywheel {
namespace {

std::vector<float> RandomStates(unsigned seed, int rows, double offset) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<float> states;
  for (int row = 0; row < rows; ++row) {
    states.push_back(static_cast<float>(offset) + normal(generator));
    states.push_back(100 * normal(generator));
  }
  return states;
}

TEST(ObservationStatisticsTest, AgreesWithHandComputedNumbers) {
  ObservationStatistics statistics(1);
  statistics.Merge(std::vector<float>{1, 2, 3});
  statistics.Merge(std::vector<float>{6});
  EXPECT_EQ(statistics.count(), 4);
  EXPECT_DOUBLE_EQ(statistics.mean()[0], 3);
  EXPECT_DOUBLE_EQ(statistics.squared_deviations()[0], 4 + 1 + 0 + 9);
  EXPECT_FLOAT_EQ(statistics.Normalizer().inverse_std[0],
                  static_cast<float>(1 / std::sqrt(3.5 + 1e-8)));
}

TEST(ObservationStatisticsTest, MergesPartsLikeTheWhole) {
  const std::vector<float> states = RandomStates(7, 1000, 1e4);
  ObservationStatistics whole(2);
  whole.Merge(states);
  ObservationStatistics parts(2);
  parts.Merge(std::span(states).subspan(0, 2 * 3));
  parts.Merge(std::span(states).subspan(2 * 3, 2 * 600));
  parts.Merge(std::span(states).subspan(2 * 603));
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(parts.mean()[i] / whole.mean()[i], 1, 1e-12);
    EXPECT_NEAR(parts.squared_deviations()[i] / whole.squared_deviations()[i],
                1, 1e-9);
  }
}

TEST(ObservationStatisticsTest, LeavesObservationsAsTheyAreAtFirst) {
  const ObservationNormalizer normalizer =
      ObservationStatistics(2).Normalizer();
  std::vector<float> states = {1.5f, -2.5f, 9.0f, 11.0f};
  Normalize(normalizer, states);
  EXPECT_EQ(states, (std::vector<float>{1.5f, -2.5f, 9.0f, 10.0f}));
}

TEST(ObservationStatisticsTest, NormalizesToMeanZeroAndVarianceOne) {
  std::vector<float> states = RandomStates(11, 5000, 3);
  ObservationStatistics statistics(2);
  statistics.Merge(states);
  Normalize(statistics.Normalizer(), states);
  ObservationStatistics after(2);
  after.Merge(states);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(after.mean()[i], 0, 1e-5);
    EXPECT_NEAR(after.squared_deviations()[i] / after.count(), 1, 1e-3);
  }
}

TEST(ObservationStatisticsTest, ClipsConstantsThatMove) {
  ObservationStatistics statistics(1);
  statistics.Merge(std::vector<float>(100, 5.0f));
  std::vector<float> states = {5.0f, 6.0f, 4.0f};
  Normalize(statistics.Normalizer(), states);
  EXPECT_EQ(states, (std::vector<float>{0, 10, -10}));
}

TEST(ObservationStatisticsTest, MergingNothingChangesNothing) {
  ObservationStatistics statistics(2);
  statistics.Merge({});
  EXPECT_EQ(statistics.count(), 0);
  ObservationStatistics none(0);
  none.Merge({});
  EXPECT_TRUE(none.Normalizer().mean.empty());
}

TEST(ObservationStatisticsTest, GoesOnFromSavedNumbers) {
  const std::vector<float> states = RandomStates(3, 10, 0);
  ObservationStatistics statistics(2);
  statistics.Merge(states);
  ObservationStatistics copy(2);
  copy.Restore(statistics.count(), statistics.mean(),
               statistics.squared_deviations());
  statistics.Merge(states);
  copy.Merge(states);
  EXPECT_EQ(copy.mean(), statistics.mean());
  EXPECT_EQ(copy.squared_deviations(), statistics.squared_deviations());
}

TEST(ObservationNormalizerTest, ComesBackFromASnapshotBitForBit) {
  ObservationStatistics statistics(2);
  statistics.Merge(RandomStates(5, 100, 1));
  const ObservationNormalizer normalizer = statistics.Normalizer();
  PolicySnapshot snapshot;
  snapshot.bytes.resize(3);  // Weights that end anywhere.
  AppendNormalizer(normalizer, snapshot);
  EXPECT_EQ(snapshot.tensors[0].offset % 64, 0u);
  EXPECT_EQ(snapshot.tensors[1].offset % 64, 0u);
  const auto read = NormalizerFrom(snapshot, 2);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->mean, normalizer.mean);
  EXPECT_EQ(read->inverse_std, normalizer.inverse_std);
}

TEST(ObservationNormalizerTest, IsRefusedIfASnapshotLacksIt) {
  EXPECT_EQ(NormalizerFrom(PolicySnapshot{}, 2).status().message(),
            "the snapshot has no tensor observation_mean");
}

TEST(ObservationNormalizerTest, IsRefusedIfItHasAnotherSize) {
  PolicySnapshot snapshot;
  AppendNormalizer(IdentityNormalizer(3), snapshot);
  EXPECT_EQ(NormalizerFrom(snapshot, 2).status().message(),
            "tensor observation_mean must be [2], the snapshot's is [3]");
}

TEST(ObservationNormalizerTest, IsRefusedOutsideTheBytes) {
  PolicySnapshot snapshot;
  AppendNormalizer(IdentityNormalizer(3), snapshot);
  snapshot.bytes.resize(70);
  EXPECT_EQ(NormalizerFrom(snapshot, 3).status().message(),
            "tensor observation_inverse_std of 12 bytes at offset 64 lies "
            "outside the snapshot's 70 bytes");
}

}  // namespace
}  // namespace flywheel
