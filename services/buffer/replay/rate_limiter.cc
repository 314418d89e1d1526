#include "services/buffer/replay/rate_limiter.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

absl::Status CheckAtLeastOne(absl::string_view field, int64_t value) {
  if (value >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, " must be >= 1, got ", value));
}

}  // namespace

RateLimiterOptions MinSizeLimiter(int64_t min_size_to_sample) {
  return {.min_size_to_sample = min_size_to_sample};
}

RateLimiterOptions QueueLimiter(int64_t size) {
  return {.min_diff = 0.0, .max_diff = static_cast<double>(size)};
}

absl::StatusOr<RateLimiterOptions> SampleToInsertRatioLimiter(
    double samples_per_insert, int64_t min_size_to_sample,
    double error_buffer) {
  const double middle =
      samples_per_insert * static_cast<double>(min_size_to_sample);
  const RateLimiterOptions options = {.samples_per_insert = samples_per_insert,
                                      .min_size_to_sample = min_size_to_sample,
                                      .min_diff = middle - error_buffer,
                                      .max_diff = middle + error_buffer};
  const double narrowest = std::max(1.0, samples_per_insert);
  if (!(error_buffer >= narrowest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "error_buffer must be >= ", narrowest,
        ", the larger of 1 and samples_per_insert, or inserts and samples "
        "could wait for each other for ever; got ",
        error_buffer));
  }
  FLYWHEEL_RETURN_IF_ERROR(Validate(options));
  return options;
}

absl::Status Validate(const RateLimiterOptions& options) {
  FLYWHEEL_RETURN_IF_ERROR(
      CheckAtLeastOne("min_size_to_sample", options.min_size_to_sample));
  if (!(options.samples_per_insert > 0) ||
      !std::isfinite(options.samples_per_insert)) {
    return absl::InvalidArgumentError(
        absl::StrCat("samples_per_insert must be above 0 and finite, got ",
                     options.samples_per_insert));
  }
  if (!(options.min_diff <= options.max_diff) ||
      !std::isfinite(options.min_diff) || !std::isfinite(options.max_diff)) {
    return absl::InvalidArgumentError(
        absl::StrCat("min_diff must be at most max_diff, both finite; got ",
                     options.min_diff, " and ", options.max_diff));
  }
  const double when_full = options.samples_per_insert *
                           static_cast<double>(options.min_size_to_sample);
  if (options.min_diff > when_full) {
    return absl::InvalidArgumentError(absl::StrCat(
        "min_diff must be at most samples_per_insert * min_size_to_sample = ",
        when_full, ", or nothing could be sampled before inserts wait; got ",
        options.min_diff));
  }
  return absl::OkStatus();
}

bool RateLimiter::CanInsert(int64_t num_inserts) const {
  if (size() + num_inserts <= options_.min_size_to_sample) return true;
  return DiffAfter(num_inserts, 0) <= options_.max_diff;
}

bool RateLimiter::CanSample(int64_t num_samples) const {
  if (size() < options_.min_size_to_sample) return false;
  return DiffAfter(0, num_samples) >= options_.min_diff;
}

bool RateLimiter::CouldInsert(int64_t num_inserts) const {
  // Every table takes one. Several need a difference low enough before them,
  // which samples can reach exactly only where all numbers are whole.
  if (num_inserts == 1) return true;
  const bool whole =
      std::floor(options_.samples_per_insert) == options_.samples_per_insert &&
      std::floor(options_.min_diff) == options_.min_diff;
  const double lift =
      static_cast<double>(num_inserts) * options_.samples_per_insert;
  return lift <= options_.max_diff - options_.min_diff - (whole ? 0.0 : 1.0);
}

std::string RateLimiter::InsertWaitsFor(int64_t num_inserts) const {
  if (CanInsert(num_inserts)) return "";
  const double above = DiffAfter(num_inserts, 0) - options_.max_diff;
  return absl::StrCat(std::ceil(above), " more samples: after ",
                      counts_.inserts, " inserts and ", counts_.samples,
                      " samples ", num_inserts, " more inserts at ",
                      options_.samples_per_insert, " samples each would be ",
                      above, " above max_diff ", options_.max_diff);
}

std::string RateLimiter::SampleWaitsFor() const {
  if (CanSample()) return "";
  const int64_t missing = options_.min_size_to_sample - size();
  if (missing > 0) {
    return absl::StrCat(missing, " more items: it holds ", size(),
                        ", and min_size_to_sample is ",
                        options_.min_size_to_sample);
  }
  const double below = options_.min_diff - DiffAfter(0, 1);
  return absl::StrCat(std::ceil(below / options_.samples_per_insert),
                      " more inserts: after ", counts_.inserts, " inserts at ",
                      options_.samples_per_insert, " samples each and ",
                      counts_.samples, " samples one more sample would be ",
                      below, " below min_diff ", options_.min_diff);
}

double RateLimiter::DiffAfter(int64_t num_inserts, int64_t num_samples) const {
  return static_cast<double>(counts_.inserts + num_inserts) *
             options_.samples_per_insert -
         static_cast<double>(counts_.samples + num_samples);
}

}  // namespace flywheel
