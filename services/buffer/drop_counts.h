#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace flywheel {

// Trajectories given up, by reason. Not thread-safe.
class DropCounts {
 public:
  void Count(const std::string& reason, int64_t trajectories) {
    by_reason_[reason] += trajectories;
  }
  const std::map<std::string, int64_t>& by_reason() const { return by_reason_; }

 private:
  std::map<std::string, int64_t> by_reason_;
};

}  // namespace flywheel
