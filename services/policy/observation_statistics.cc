#include "services/policy/observation_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "services/core/status_macros.h"
#include "services/policy/snapshot_tensors.h"

namespace flywheel {
namespace {

constexpr double kVarianceFloor = 1e-8;
constexpr char kMeanName[] = "observation_mean";
constexpr char kInverseStdName[] = "observation_inverse_std";

}  // namespace

ObservationNormalizer IdentityNormalizer(int64_t size) {
  return {.mean = std::vector<float>(size, 0.0f),
          .inverse_std = std::vector<float>(size, 1.0f)};
}

void Normalize(const ObservationNormalizer& normalizer,
               std::span<float> states) {
  const std::size_t size = normalizer.mean.size();
  for (std::size_t i = 0; i < states.size(); ++i) {
    const float x = (states[i] - normalizer.mean[i % size]) *
                    normalizer.inverse_std[i % size];
    states[i] = std::clamp(x, -kObservationClip, kObservationClip);
  }
}

void AppendNormalizer(const ObservationNormalizer& normalizer,
                      PolicySnapshot& snapshot) {
  if (normalizer.mean.empty()) return;
  const int64_t size = static_cast<int64_t>(normalizer.mean.size());
  AppendTensor(kMeanName, {&size, 1}, std::as_bytes(std::span(normalizer.mean)),
               snapshot);
  AppendTensor(kInverseStdName, {&size, 1},
               std::as_bytes(std::span(normalizer.inverse_std)), snapshot);
}

absl::StatusOr<ObservationNormalizer> NormalizerFrom(
    const PolicySnapshot& snapshot, int64_t size) {
  ObservationNormalizer normalizer = IdentityNormalizer(size);
  if (size == 0) return normalizer;
  FLYWHEEL_RETURN_IF_ERROR(
      CopyTensor(snapshot, kMeanName, {&size, 1}, normalizer.mean.data()));
  FLYWHEEL_RETURN_IF_ERROR(CopyTensor(snapshot, kInverseStdName, {&size, 1},
                                      normalizer.inverse_std.data()));
  return normalizer;
}

ObservationStatistics::ObservationStatistics(int64_t size)
    : mean_(size, 0.0), squared_deviations_(size, 0.0) {}

void ObservationStatistics::Merge(std::span<const float> states) {
  const std::size_t size = mean_.size();
  if (size == 0 || states.empty()) return;
  const std::size_t rows = states.size() / size;
  const double added = static_cast<double>(rows);
  std::vector<double> mean(size, 0.0);
  std::vector<double> squared(size, 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < size; ++i) mean[i] += states[row * size + i];
  }
  for (double& sum : mean) sum /= added;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < size; ++i) {
      const double deviation = states[row * size + i] - mean[i];
      squared[i] += deviation * deviation;
    }
  }
  const double total = count_ + added;
  for (std::size_t i = 0; i < size; ++i) {
    const double shift = mean[i] - mean_[i];
    mean_[i] += shift * added / total;
    squared_deviations_[i] +=
        squared[i] + shift * shift * count_ * added / total;
  }
  count_ = total;
}

ObservationNormalizer ObservationStatistics::Normalizer() const {
  ObservationNormalizer normalizer = IdentityNormalizer(size());
  if (count_ == 0) return normalizer;
  for (std::size_t i = 0; i < mean_.size(); ++i) {
    const double variance = squared_deviations_[i] / count_;
    normalizer.mean[i] = static_cast<float>(mean_[i]);
    normalizer.inverse_std[i] =
        static_cast<float>(1.0 / std::sqrt(variance + kVarianceFloor));
  }
  return normalizer;
}

void ObservationStatistics::Restore(
    double count, std::span<const double> mean,
    std::span<const double> squared_deviations) {
  count_ = count;
  mean_.assign(mean.begin(), mean.end());
  squared_deviations_.assign(squared_deviations.begin(),
                             squared_deviations.end());
}

}  // namespace flywheel
