#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/downsample.h"

namespace flywheel {

enum class Mark { kLine, kDots };

// One curve of a chart.
struct ChartSeries {
  std::string name;
  std::vector<CurvePoint> points;  // By growing x.
  Mark mark = Mark::kLine;
  int color = 0;               // Class "s0" … "s4" of the page's style sheet.
  Stand stand = Stand::kMean;  // Where several points share a place.
};

// A horizontal line across a chart, such as a limit.
struct ChartLimit {
  std::string name;
  double y = 0;
};

struct Chart {
  std::string title;
  std::string x_label;  // "environment steps"
  std::vector<ChartSeries> series;
  std::optional<ChartLimit> limit;
  // The least the vertical axis shows, where the data leave room.
  std::optional<double> y_min;
  std::optional<double> y_max;
  bool percent = false;  // y are shares: show 0.5 as 50 %.
};

// Round numbers from at or below `low` to at or above `high`, about `count` of
// them, evenly spaced. Finite for any finite arguments.
std::vector<double> AxisTicks(double low, double high, int count);

// `chart` as an HTML <figure> with one inline <svg>: no script and no color of
// its own, at most 300 points per curve. Says "no data" without a point.
std::string SvgChart(const Chart& chart);

}  // namespace flywheel
