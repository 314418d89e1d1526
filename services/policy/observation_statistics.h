#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "services/core/policy_snapshot.h"

namespace flywheel {

// Normalized observations stay within +-kObservationClip.
inline constexpr float kObservationClip = 10.0f;

// x becomes clip((x - mean) * inverse_std). One policy version has exactly one
// of these, in its snapshot, so what it saw can be computed again.
struct ObservationNormalizer {
  std::vector<float> mean;
  std::vector<float> inverse_std;
};

// The one that leaves numbers within the clip as they are.
ObservationNormalizer IdentityNormalizer(int64_t size);

// Normalizes rows of observations [rows, size] in place.
void Normalize(const ObservationNormalizer& normalizer,
               std::span<float> states);

// Writes the normalizer behind the weights of `snapshot`, as the tensors
// "observation_mean" and "observation_inverse_std"; nothing without states.
void AppendNormalizer(const ObservationNormalizer& normalizer,
                      PolicySnapshot& snapshot);

// What AppendNormalizer() wrote. Returns InvalidArgument naming the tensor that
// is missing or does not have `size` elements.
absl::StatusOr<ObservationNormalizer> NormalizerFrom(
    const PolicySnapshot& snapshot, int64_t size);

// Running mean and variance of every element of the state vector.
//
// Merge() is exact in any order up to rounding (Chan, Golub, LeVeque 1983), in
// double. Not thread-safe.
class ObservationStatistics {
 public:
  explicit ObservationStatistics(int64_t size);

  // Takes up rows of raw observations [rows, size].
  void Merge(std::span<const float> states);

  // inverse_std is 1 / sqrt(variance + 1e-8); identity before the first
  // Merge().
  ObservationNormalizer Normalizer() const;

  int64_t size() const { return static_cast<int64_t>(mean_.size()); }
  double count() const { return count_; }
  const std::vector<double>& mean() const { return mean_; }
  // Sums of squared distances from the mean.
  const std::vector<double>& squared_deviations() const {
    return squared_deviations_;
  }

  // Goes on from saved numbers; sizes as this one's.
  void Restore(double count, std::span<const double> mean,
               std::span<const double> squared_deviations);

 private:
  double count_ = 0;
  std::vector<double> mean_;
  std::vector<double> squared_deviations_;
};

}  // namespace flywheel
