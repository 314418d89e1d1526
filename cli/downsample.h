#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace flywheel {

// One point of a curve. Not finite y: nothing was measured there.
struct CurvePoint {
  double x = 0;
  double y = 0;
};

// What stands for the points that share a place on a downsampled curve.
enum class Stand { kMean, kMax };

// At most `points_max` points over the same range of x, each standing for its
// neighbors. Points that are not finite are left out.
// REQUIRES: points_max >= 1.
std::vector<CurvePoint> Downsample(std::span<const CurvePoint> points,
                                   std::size_t points_max, Stand stand);

}  // namespace flywheel
