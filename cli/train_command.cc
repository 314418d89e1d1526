#include "cli/train_command.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stop_token>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "cli/closing_text.h"
#include "cli/file_text.h"
#include "cli/interrupts.h"
#include "cli/load_job_codec.h"
#include "cli/progress_reporter.h"
#include "cli/run_folder.h"
#include "cli/run_records.h"
#include "cli/text_checks.h"
#include "services/core/clock.h"
#include "services/core/status_macros.h"
#include "services/orchestrator/embedded_orchestrator.h"
#include "services/orchestrator/local_placement.h"
#include "services/orchestrator/run_folder.h"
#include "services/wire/jobs_client.h"

namespace flywheel {
namespace {

// Short, so that an orchestrator that hangs does not keep a second Ctrl-C
// waiting.
constexpr absl::Duration kCallDeadline = absl::Seconds(5);

constexpr char kDefaultExample[] = "examples/reach_vla.yaml";

// The top of the repository: the launcher says, else seen from the program in
// build/<preset>/bin.
std::filesystem::path Home() {
  const char* const home = std::getenv("FLYWHEEL_HOME");
  return home != nullptr
             ? std::filesystem::path(home)
             : (std::filesystem::path(OwnProgramFolder()) / "../../..")
                   .lexically_normal();
}

std::filesystem::path JobPath(const TrainOptions& options) {
  if (!options.resume.empty()) {
    return std::filesystem::path(options.resume) / "job.yaml";
  }
  return options.job_file.empty() ? Home() / kDefaultExample
                                  : std::filesystem::path(options.job_file);
}

// What is known before anything starts.
struct Prepared {
  RunFolder folder;
  LoadedJob job;
  bool resumes = false;            // A run that there was.
  nlohmann::json earlier_summary;  // Of a resumed run; else null.
};

// The folder of a run to go on with; else a new one, once the job is good.
absl::StatusOr<RunFolder> MakeFolder(const TrainOptions& options,
                                     const LoadedJob& job) {
  return options.resume.empty()
             ? RunFolder::Create(options.output, job.spec.name, absl::Now())
             : RunFolder::Open(options.resume);
}

absl::StatusOr<Prepared> Prepare(const TrainOptions& options) {
  if (!options.resume.empty()) {
    FLYWHEEL_RETURN_IF_ERROR(CheckRunFolder(options.resume));
  }
  const absl::StatusOr<LoadedJob> job =
      LoadJob(JobPath(options), options.overrides);
  if (!job.ok()) return job.status();
  for (const std::string& warning : job->warnings) {
    std::cerr << "warning: " << warning << '\n';
  }
  absl::StatusOr<RunFolder> folder = MakeFolder(options, *job);
  if (!folder.ok()) return folder.status();
  if (HasSavedState(folder->path())) {
    const absl::StatusOr<LoadedJob> before = LoadJob(folder->job(), {});
    if (!before.ok()) return before.status();
    FLYWHEEL_RETURN_IF_ERROR(CheckResumable(*before, *job));
  }
  nlohmann::json earlier = ReadSummary(folder->summary());
  return Prepared{.folder = *std::move(folder),
                  .job = *job,
                  .resumes = !options.resume.empty(),
                  .earlier_summary = std::move(earlier)};
}

// How a followed job ended.
struct Ended {
  Job job;
  bool killed = false;  // Before it had stopped in order.
};

// One job at an orchestrator, from its submission to its end.
class Follower {
 public:
  Follower(const std::string& orchestrator, Interrupts& interrupts)
      : client_(JobsClient::Create(
            {.orchestrator = orchestrator, .call_deadline = kCallDeadline})),
        interrupts_(interrupts) {}

  absl::StatusOr<Ended> Run(const JobRequest& request) {
    const absl::StatusOr<Job> created = client_->CreateJob(request);
    if (!created.ok()) return created.status();
    newest_ = *created;
    const std::string job_id = created->job_id;
    interrupts_.Attend(
        [this, job_id] { client_->CancelJob(job_id).IgnoreError(); },
        [this] { watching_.request_stop(); });
    const absl::StatusOr<Job> ended = client_->WatchJob(
        job_id, [this](const Job& job) { OnJob(job); }, watching_.get_token());
    interrupts_.Leave();
    reporter_.Clear();
    if (ended.ok()) return Ended{.job = *ended};
    if (!watching_.stop_requested()) return ended.status();
    newest_.state = JobState::kCancelled;
    return Ended{.job = newest_, .killed = true};
  }

 private:
  void OnJob(const Job& job) {
    newest_ = job;
    reporter_.Update(job, clock_.Now());
    if (interrupts_.signal() == 0 || said_stopping_) return;
    said_stopping_ = true;
    reporter_.Say(
        "stopping in order, with a final checkpoint; Ctrl-C again stops at "
        "once");
  }

  const std::unique_ptr<JobsClient> client_;
  Interrupts& interrupts_;
  const MonotonicClock clock_;
  ProgressReporter reporter_{
      std::cerr, {.terminal = StderrTerminal(), .columns = StderrColumns}};
  Job newest_;
  bool said_stopping_ = false;
  std::stop_source watching_;
};

absl::StatusOr<Ended> RunJob(const Prepared& run, Interrupts& interrupts) {
  auto orchestrator = EmbeddedOrchestrator::Start(
      {.run_folder = run.folder.absolute().string()});
  if (!orchestrator.ok()) return orchestrator.status();
  // The folder is ours now: services of a killed launcher have ended.
  FLYWHEEL_RETURN_IF_ERROR(WriteFileAtomically(run.folder.job(), run.job.yaml));
  const bool saved = HasSavedState(run.folder.absolute());
  if (run.resumes && !saved) {
    std::cerr << "nothing is saved yet: the run starts from the beginning\n";
  }
  Follower follower((*orchestrator)->target(), interrupts);
  absl::StatusOr<Ended> ended =
      follower.Run({.request_id = absl::StrCat("train-", getpid(), "-",
                                               absl::ToUnixMicros(absl::Now())),
                    .spec = run.job.spec,
                    .run_folder = run.folder.absolute().string(),
                    .resume = saved});
  // Whatever still runs has had its time to stop.
  (*orchestrator)->Shutdown(absl::ZeroDuration());
  return ended;
}

ExitCode ExitCodeOf(const Ended& ended) {
  switch (ended.job.state) {
    case JobState::kSucceeded:
      return ExitCode::kDone;
    case JobState::kCancelled:
      return ExitCode::kInterrupted;
    default:
      break;
  }
  // A service that found fault with the configuration, or with the moment.
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kTryAgain}) {
    if (ended.job.exit_code == static_cast<int>(code)) return code;
  }
  return ExitCode::kFailed;
}

// A life of a run that never got as far as its saved state has no figures.
bool TrainedAnything(const Ended& ended) {
  return ended.job.learner && ended.job.learner->environment_steps > 0;
}

void TellEnd(const Prepared& run, const Ended& ended) {
  const std::string folder = run.folder.path().string();
  if (ended.job.state == JobState::kFailed) {
    std::cerr << "failed: " << ended.job.message << "\nlogs: " << folder
              << "/logs\n";
  }
  if (ended.job.state == JobState::kCancelled) {
    std::cerr << (ended.killed ? "killed before it had stopped in order; "
                               : "interrupted; ")
              << "go on with: " << CommandName() << " train --resume "
              << ShellQuoted(folder) << '\n';
  }
  std::cout << ClosingText(ReadSummary(run.folder.summary()),
                           run.job.spec.budget, run.folder, CommandName())
            << std::flush;
}

ExitCode Refuse(const absl::Status& status) {
  std::cerr << status.message() << '\n';
  return ExitCodeFor(status);
}

}  // namespace

ExitCode Train(const TrainOptions& options) {
  Interrupts interrupts;  // Before any other thread.
  const absl::StatusOr<Prepared> run = Prepare(options);
  if (!run.ok()) return Refuse(run.status());
  std::cerr << "run folder: " << run->folder.path().string() << '\n';

  const absl::StatusOr<Ended> ended = RunJob(*run, interrupts);
  if (!ended.ok()) return Refuse(ended.status());

  if (run->earlier_summary.is_null() || TrainedAnything(*ended)) {
    const absl::Status written =
        WriteRecords(run->folder, ended->job, run->earlier_summary);
    if (!written.ok()) std::cerr << written.message() << '\n';
  }
  TellEnd(*run, *ended);
  return ExitCodeOf(*ended);
}

}  // namespace flywheel
