#pragma once

#include <span>

namespace flywheel {

// Of numbers, in double. The spans must not be empty.
double MeanOf(std::span<const float> values);
double StandardDeviationOf(std::span<const float> values);

// Subtracts the mean and divides by the standard deviation (plus 1e-8).
void Standardize(std::span<float> values);

// 1 - Var(targets - values) / Var(targets): the share of the targets' variance
// that `values` explain; 0 if the targets do not vary.
double ExplainedVariance(std::span<const float> targets,
                         std::span<const float> values);

}  // namespace flywheel
