#include "cli/downsample.h"

#include <algorithm>
#include <cmath>

namespace flywheel {
namespace {

CurvePoint StandIn(std::span<const CurvePoint> points, Stand stand) {
  CurvePoint sum;
  double max = points.front().y;
  for (const CurvePoint& point : points) {
    sum.x += point.x;
    sum.y += point.y;
    max = std::max(max, point.y);
  }
  const auto count = static_cast<double>(points.size());
  return {sum.x / count, stand == Stand::kMax ? max : sum.y / count};
}

}  // namespace

std::vector<CurvePoint> Downsample(std::span<const CurvePoint> points,
                                   std::size_t points_max, Stand stand) {
  std::vector<CurvePoint> finite;
  for (const CurvePoint& point : points) {
    if (std::isfinite(point.x) && std::isfinite(point.y)) {
      finite.push_back(point);
    }
  }
  if (finite.size() <= points_max) return finite;
  std::vector<CurvePoint> fewer;
  for (std::size_t i = 0; i < points_max; ++i) {
    const std::size_t begin = i * finite.size() / points_max;
    const std::size_t end = (i + 1) * finite.size() / points_max;
    fewer.push_back(
        StandIn(std::span(finite).subspan(begin, end - begin), stand));
  }
  return fewer;
}

}  // namespace flywheel
