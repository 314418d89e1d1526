#pragma once

#include <cstddef>
#include <istream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cli/downsample.h"

namespace flywheel {

// The numbers of a metrics.jsonl, by phase and name, one per line of the file.
//
// Keeps at most `lines_max` lines of each phase: beyond that every second one
// is dropped, then every second of those that follow, so that a file of any
// length fits in memory. Not thread-safe.
class MetricsTable {
 public:
  explicit MetricsTable(std::size_t lines_max = 50000)
      : lines_max_(lines_max) {}

  // Reads until the end. Lines that are no JSON object, such as a half written
  // last one, and values that are no numbers are passed over.
  void Read(std::istream& file);

  // Lines of `phase` ("imitation", "training") kept.
  std::size_t lines(std::string_view phase) const;

  // `y` over `x`, for the lines of `phase` that have both.
  std::vector<CurvePoint> Curve(std::string_view phase, const std::string& x,
                                const std::string& y) const;

  // The largest value of `name` in all lines of `phase` read, the dropped ones
  // included; NaN without one.
  double Max(std::string_view phase, const std::string& name) const;

 private:
  struct Phase {
    std::vector<std::map<std::string, double>> lines;
    std::map<std::string, double> max;
    std::size_t read = 0;
    std::size_t stride = 1;  // One line of so many is kept.
  };

  void Add(const std::string& phase, std::map<std::string, double> line);

  const std::size_t lines_max_;
  std::map<std::string, Phase, std::less<>> phases_;
};

}  // namespace flywheel
