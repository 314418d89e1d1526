#include "services/learner/sample_moments.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace flywheel {

double MeanOf(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) /
         static_cast<double>(values.size());
}

double StandardDeviationOf(std::span<const float> values) {
  const double mean = MeanOf(values);
  double squared = 0;
  for (const float x : values) squared += (x - mean) * (x - mean);
  return std::sqrt(squared / static_cast<double>(values.size()));
}

void Standardize(std::span<float> values) {
  const double mean = MeanOf(values);
  const double scale = 1 / (StandardDeviationOf(values) + 1e-8);
  for (float& x : values) x = static_cast<float>((x - mean) * scale);
}

double ExplainedVariance(std::span<const float> targets,
                         std::span<const float> values) {
  std::vector<float> left(targets.size());
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = targets[i] - values[i];
  const double all = StandardDeviationOf(targets);
  const double rest = StandardDeviationOf(left);
  return all > 0 ? 1 - rest * rest / (all * all) : 0;
}

}  // namespace flywheel
