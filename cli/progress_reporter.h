#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>

#include "absl/time/time.h"
#include "cli/progress_meter.h"
#include "cli/terminal.h"
#include "services/core/job_status.h"

namespace flywheel {

// Tells a person on `out` how a run goes: one live line redrawn in place on a
// terminal, else a plain line every 10 s; and a line of its own for each
// evaluation and each replaced process.
//
// Not thread-safe. Write errors are ignored: the terminal may be gone.
class ProgressReporter {
 public:
  struct Options {
    Terminal terminal;
    std::function<int()> columns;  // Of the terminal, asked at every line.
    absl::Duration plain_interval = absl::Seconds(10);
  };

  // `out` must outlive it.
  ProgressReporter(std::ostream& out, Options options);

  // `job` changed. `now` must not go back.
  void Update(const Job& job, absl::Time now);

  // A line that stays.
  void Say(const std::string& line);

  // Removes the live line.
  void Clear();

 private:
  void SayNews(const Job& job);
  void Draw(const Job& job);

  std::ostream& out_;
  const Options options_;
  ProgressMeter meter_;
  absl::Time last_line_ = absl::InfinitePast();
  std::string last_phase_;
  std::size_t evaluations_said_ = 0;
  absl::Time newest_restart_ = absl::InfinitePast();
  bool live_line_shown_ = false;
};

}  // namespace flywheel
