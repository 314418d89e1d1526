#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/time/time.h"

namespace flywheel {

// The median of the newest durations it was given.
class RunningMedian {
 public:
  void Add(absl::Duration duration);

  // Nullopt before the first.
  std::optional<absl::Duration> Median() const;

 private:
  std::array<absl::Duration, 101> newest_ = {};
  std::size_t count_ = 0;  // Ever added.
};

// How long a credit may be out, and a called-in one unanswered, while the
// learner waits: as configured, or by what is usual in this job.
//
// Before the first trajectory nothing is known to be slow, so nothing is
// overdue. Pure: no clock.
class OverdueLimits {
 public:
  struct Options {
    // Unset: the larger of 2 s and 20 median trajectory times.
    std::optional<absl::Duration> credit_deadline;
    // Unset: the larger of 1 s and 20 median chunk times. (A rollout answers at
    // the end of a chunk; without action chunks that is an environment step.)
    std::optional<absl::Duration> answer_deadline;
  };

  explicit OverdueLimits(const Options& options) : options_(options) {}

  // A credit that nobody called in took `duration` for `num_chunks` chunks.
  void ObserveTrajectory(absl::Duration duration, int64_t num_chunks);

  // A rollout can answer after so long.
  void ObserveAnswer(absl::Duration duration) { answer_.Add(duration); }

  absl::Duration CreditDeadline() const;
  absl::Duration AnswerDeadline() const;

 private:
  // Constant after construction.
  const Options options_;

  RunningMedian trajectory_;
  RunningMedian answer_;
};

}  // namespace flywheel
