#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace flywheel {

// metrics.jsonl: one JSON object per train step (or per imitation pass).
//
// Not thread-safe: the training thread writes, a line at a time, so that a
// reader never sees half of one.
class MetricsLog {
 public:
  // One line: names and numbers in the order given; NaN is written as null.
  using Line = std::vector<std::pair<std::string, double>>;

  // Opens `path` for appending, after cutting off what a former life wrote
  // beyond train step `train_steps`: those steps are repeated.
  static absl::StatusOr<MetricsLog> Open(const std::string& path,
                                         int64_t train_steps);

  // `phase` is "imitation" or "training".
  void Write(const std::string& phase, const Line& line);

 private:
  explicit MetricsLog(std::ofstream file) : file_(std::move(file)) {}

  std::ofstream file_;
};

}  // namespace flywheel
