#include "cli/progress_reporter.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/progress_line.h"

namespace flywheel {
namespace {

// Back to the first column, clear to the end of the line.
constexpr char kClearLine[] = "\r\x1b[K";
constexpr char kBold[] = "\x1b[1m";
constexpr char kNormal[] = "\x1b[0m";

// The phase in bold: it is what changes seldom and matters most.
std::string Colored(const std::string& line) {
  const std::size_t end = line.find("  ");
  if (end == std::string::npos) return line;
  return absl::StrCat(kBold, line.substr(0, end), kNormal, line.substr(end));
}

}  // namespace

ProgressReporter::ProgressReporter(std::ostream& out, Options options)
    : out_(out), options_(std::move(options)) {}

void ProgressReporter::Update(const Job& job, absl::Time now) {
  if (job.learner) meter_.Observe(now, *job.learner);
  SayNews(job);
  if (IsFinal(job.state)) return Clear();
  if (options_.terminal.live) return Draw(job);
  const std::string phase = PhaseText(job).substr(0, PhaseText(job).find(' '));
  if (phase == last_phase_ && now - last_line_ < options_.plain_interval) {
    return;
  }
  last_phase_ = phase;
  last_line_ = now;
  Say(PlainLine(job, meter_));
}

void ProgressReporter::SayNews(const Job& job) {
  for (; evaluations_said_ < job.evaluations.size(); ++evaluations_said_) {
    Say(EvaluationLine(job.evaluations[evaluations_said_]));
  }
  // The list of restarts is cut at its old end, so their times tell which are
  // new.
  absl::Time newest = newest_restart_;
  for (const Restart& restart : job.recoveries) {
    if (restart.died <= newest_restart_) continue;
    newest = std::max(newest, restart.died);
    Say(RestartLine(restart));
  }
  newest_restart_ = newest;
}

void ProgressReporter::Draw(const Job& job) {
  // The last column stays free: some terminals wrap when it is written.
  const std::string line = LiveLine(job, meter_, options_.columns() - 1);
  out_ << kClearLine << (options_.terminal.color ? Colored(line) : line)
       << std::flush;
  live_line_shown_ = true;
}

void ProgressReporter::Say(const std::string& line) {
  Clear();
  out_ << line << std::endl;
  out_.clear();
}

void ProgressReporter::Clear() {
  if (!live_line_shown_) return;
  out_ << kClearLine << std::flush;
  out_.clear();
  live_line_shown_ = false;
}

}  // namespace flywheel
