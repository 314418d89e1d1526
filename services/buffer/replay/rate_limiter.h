#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flywheel {

// When a table lets items in and samples out. The difference
//
//     inserts * samples_per_insert - samples
//
// stays within [min_diff, max_diff]: an insert that would lift it above
// max_diff waits, and so does a sample that would take it below min_diff. While
// the table holds fewer than min_size_to_sample items, inserts are free and
// samples wait.
struct RateLimiterOptions {
  double samples_per_insert = 1.0;
  int64_t min_size_to_sample = 1;
  double min_diff = std::numeric_limits<double>::lowest();
  double max_diff = std::numeric_limits<double>::max();

  bool operator==(const RateLimiterOptions&) const = default;
};

// Only ever waits for the first `min_size_to_sample` items.
RateLimiterOptions MinSizeLimiter(int64_t min_size_to_sample);

// Lets `size` items wait to be sampled once each. An item that is removed
// without having been sampled keeps its place in the count.
RateLimiterOptions QueueLimiter(int64_t size);

// Keeps samples at `samples_per_insert` for each insert after the first
// `min_size_to_sample`, give or take `error_buffer` samples. InvalidArgument,
// naming the rule, for a buffer so narrow that both sides could wait for ever.
absl::StatusOr<RateLimiterOptions> SampleToInsertRatioLimiter(
    double samples_per_insert, int64_t min_size_to_sample, double error_buffer);

// InvalidArgument naming the field, the rule and the value.
absl::Status Validate(const RateLimiterOptions& options);

// What happened to a table since it was made or reset.
struct RateLimiterCounts {
  int64_t inserts = 0;
  int64_t samples = 0;
  int64_t deletes = 0;  // Of items, whatever the cause.

  bool operator==(const RateLimiterCounts&) const = default;
};

// Decides; what waits, and for how long, is its caller's business.
//
// Pure: the same counts always give the same answer. Not thread-safe.
class RateLimiter {
 public:
  // REQUIRES: Validate(options).ok().
  explicit RateLimiter(const RateLimiterOptions& options) : options_(options) {}

  bool CanInsert(int64_t num_inserts = 1) const;
  bool CanSample(int64_t num_samples = 1) const;

  // Whether so many inserts could ever be made at once; otherwise waiting is
  // of no use.
  bool CouldInsert(int64_t num_inserts) const;

  // What the next inserts or the next sample wait for, in words; empty if for
  // nothing.
  std::string InsertWaitsFor(int64_t num_inserts = 1) const;
  std::string SampleWaitsFor() const;

  void Inserted() { ++counts_.inserts; }
  void Sampled() { ++counts_.samples; }
  void Deleted() { ++counts_.deletes; }
  void Reset() { counts_ = {}; }

  const RateLimiterOptions& options() const { return options_; }
  const RateLimiterCounts& counts() const { return counts_; }
  void set_counts(const RateLimiterCounts& counts) { counts_ = counts; }

 private:
  int64_t size() const { return counts_.inserts - counts_.deletes; }
  double DiffAfter(int64_t num_inserts, int64_t num_samples) const;

  // Constant after construction.
  const RateLimiterOptions options_;

  RateLimiterCounts counts_;
};

}  // namespace flywheel
