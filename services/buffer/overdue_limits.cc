#include "services/buffer/overdue_limits.h"

#include <algorithm>
#include <vector>

namespace flywheel {
namespace {

constexpr int kMedians = 20;

absl::Duration Limit(const std::optional<absl::Duration>& configured,
                     absl::Duration least, const RunningMedian& usual) {
  if (configured.has_value()) return *configured;
  const std::optional<absl::Duration> median = usual.Median();
  if (!median.has_value()) return absl::InfiniteDuration();
  return std::max(least, kMedians * *median);
}

}  // namespace

void RunningMedian::Add(absl::Duration duration) {
  newest_[count_++ % newest_.size()] = duration;
}

std::optional<absl::Duration> RunningMedian::Median() const {
  const std::size_t known = std::min(count_, newest_.size());
  if (known == 0) return std::nullopt;
  std::vector<absl::Duration> sorted(newest_.begin(), newest_.begin() + known);
  const auto middle = sorted.begin() + known / 2;
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

void OverdueLimits::ObserveTrajectory(absl::Duration duration,
                                      int64_t num_chunks) {
  trajectory_.Add(duration);
  if (num_chunks > 0) ObserveAnswer(duration / num_chunks);
}

absl::Duration OverdueLimits::CreditDeadline() const {
  return Limit(options_.credit_deadline, absl::Seconds(2), trajectory_);
}

absl::Duration OverdueLimits::AnswerDeadline() const {
  return Limit(options_.answer_deadline, absl::Seconds(1), answer_);
}

}  // namespace flywheel
