#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>

namespace flywheel {

// Mean return and success of the last training episodes.
class EpisodeWindow {
 public:
  explicit EpisodeWindow(std::size_t capacity = 100) : capacity_(capacity) {}

  void Add(double episode_return, bool success) {
    episodes_.push_back({episode_return, success});
    if (episodes_.size() > capacity_) episodes_.pop_front();
    ++count_;
  }

  // NaN before the first episode.
  double return_mean() const {
    double sum = 0;
    for (const Episode& episode : episodes_) sum += episode.episode_return;
    return Mean(sum);
  }
  double success_rate() const {
    double sum = 0;
    for (const Episode& episode : episodes_) sum += episode.success ? 1 : 0;
    return Mean(sum);
  }

  bool full() const { return episodes_.size() == capacity_; }
  int64_t count() const { return count_; }  // Ever added.
  void set_count(int64_t count) { count_ = count; }

 private:
  struct Episode {
    double episode_return = 0;
    bool success = false;
  };

  double Mean(double sum) const {
    return episodes_.empty() ? std::numeric_limits<double>::quiet_NaN()
                             : sum / static_cast<double>(episodes_.size());
  }

  const std::size_t capacity_;
  std::deque<Episode> episodes_;
  int64_t count_ = 0;
};

}  // namespace flywheel
