#include "services/orchestrator/orchestrator.h"

#include <algorithm>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/orchestrator/evaluation_file.h"
#include "services/orchestrator/run_folder.h"
#include "services/wire/job_codec.h"
#include "spdlog/logger.h"

namespace flywheel {
namespace {

constexpr absl::Duration kWatchInterval = absl::Milliseconds(200);
constexpr int kPageSizeDefault = 100;
constexpr int kPageSizeMax = 1000;

// Heartbeats change a job without storing it. No life of an orchestrator makes
// as many revisions as this.
constexpr int64_t kRevisionsOfALife = int64_t{1} << 32;

std::string IpcEndpoint(const std::string& folder, const char* name) {
  return absl::StrCat("ipc://", folder, "/", name);
}

absl::Status CheckRunFolderFor(const JobRequest& request) {
  const bool found = HasSavedState(request.run_folder);
  if (found && !request.resume) {
    return absl::FailedPreconditionError(
        absl::StrCat("run_folder ", request.run_folder,
                     " already has checkpoints of a run: resume it, or choose "
                     "another folder"));
  }
  if (!found && request.resume) {
    return absl::FailedPreconditionError(
        absl::StrCat("run_folder ", request.run_folder,
                     " has no checkpoint to resume from"));
  }
  return absl::OkStatus();
}

}  // namespace

Orchestrator::Orchestrator(const Options& options, JobStore& store,
                           std::unique_ptr<Placement> placement,
                           const Clock& clock, spdlog::logger& log)
    : options_(options),
      store_(store),
      clock_(clock),
      log_(log),
      placement_(std::move(placement)),
      thread_([this] { Run(); }) {}

Orchestrator::~Orchestrator() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  thread_.join();
  placement_.reset();  // Ends what still runs; no callback comes after it.
}

absl::Status Orchestrator::Load() {
  const absl::StatusOr<std::vector<JobRecord>> records = store_.Jobs();
  if (!records.ok()) return records.status();
  for (const JobRecord& record : *records) {
    absl::StatusOr<Job> job = JobFromBytes(record.job);
    if (!job.ok()) {
      return absl::DataLossError(absl::StrCat(
          "job ", record.job_id, " in the store: ", job.status().message()));
    }
    if (!IsFinal(job->state)) {
      job->state = JobState::kFailed;
      job->message = "its orchestrator ended while it ran";
      job->finished = clock_.Now();
      job->revision += kRevisionsOfALife;
      FLYWHEEL_RETURN_IF_ERROR(
          store_.Update({.job_id = job->job_id, .job = JobBytes(*job)}));
    }
    MutexLock lock(mutex_);
    runners_.push_back(MakeRunner(*std::move(job)));
  }
  return absl::OkStatus();
}

// --- Jobs ---------------------------------------------------------------

absl::StatusOr<Job> Orchestrator::CreateJob(const JobRequest& request) {
  MutexLock creation(creation_);
  const StoredRequest stored{.request_id = request.request_id,
                             .fingerprint = JobRequestFingerprint(request)};
  if (!request.request_id.empty()) {
    const auto former = store_.FindRequest(request.request_id);
    if (!former.ok()) return former.status();
    if (*former) return JobOfRequest(**former, stored.fingerprint);
  }
  absl::StatusOr<Job> job = NewJob(request);
  if (!job.ok() || request.validate_only) return job;
  FLYWHEEL_RETURN_IF_ERROR(CreateRunFolder(job->run_folder));
  StoredRequest row = stored;
  row.job_id = job->job_id;
  FLYWHEEL_RETURN_IF_ERROR(
      store_.Insert({.job_id = job->job_id, .job = JobBytes(*job)}, row));
  log_.info("job {} accepted: {}", job->job_id, job->run_folder);
  MutexLock lock(mutex_);
  runners_.push_back(MakeRunner(*job));
  changed_.NotifyAll();
  return job;
}

absl::StatusOr<Job> Orchestrator::JobOfRequest(const StoredRequest& stored,
                                               const std::string& fingerprint) {
  if (stored.fingerprint == fingerprint) return GetJob(stored.job_id);
  return absl::InvalidArgumentError(
      absl::StrCat("request_id \"", stored.request_id,
                   "\" was used for another job: ", stored.job_id));
}

absl::StatusOr<Job> Orchestrator::NewJob(const JobRequest& request) {
  const absl::Time now = clock_.Now();
  Job job{.job_id = absl::StrCat(request.spec.name, "-",
                                 absl::Hex(absl::ToUnixMicros(now))),
          .spec = request.spec,
          .revision = 1,
          .created = now,
          .run_folder = request.run_folder};
  if (job.run_folder.empty()) {
    job.run_folder = absl::StrCat(options_.runs_folder, "/", job.job_id);
  }
  JobRequest placed = request;
  placed.run_folder = job.run_folder;
  FLYWHEEL_RETURN_IF_ERROR(CheckRunFolderFor(placed));
  return job;
}

JobRunner Orchestrator::MakeRunner(Job job) const {
  return JobRunner(
      std::move(job),
      {.orchestrator = options_.address,
       .buffer_endpoint = IpcEndpoint(options_.socket_folder, "buffer-0.data"),
       .policy_endpoint = IpcEndpoint(options_.socket_folder, "policy-0.data"),
       .limits = options_.limits});
}

absl::StatusOr<JobRunner*> Orchestrator::FindRunner(const std::string& job_id) {
  const auto found = std::find_if(
      runners_.begin(), runners_.end(),
      [&](const JobRunner& r) { return r.job().job_id == job_id; });
  if (found != runners_.end()) return &*found;
  return absl::NotFoundError(absl::StrCat("there is no job \"", job_id, "\""));
}

absl::StatusOr<Job> Orchestrator::GetJob(const std::string& job_id) {
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(job_id);
  if (!runner.ok()) return runner.status();
  return (*runner)->job();
}

absl::StatusOr<JobPage> Orchestrator::ListJobs(int page_size,
                                               const std::string& page_token) {
  if (page_size < 0 || page_size > kPageSizeMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "page_size must be from 0 to ", kPageSizeMax, ", got ", page_size));
  }
  const std::size_t count =
      static_cast<std::size_t>(page_size == 0 ? kPageSizeDefault : page_size);
  MutexLock lock(mutex_);
  // A token is how many jobs, counted from the oldest, are still to be listed.
  std::size_t left = runners_.size();
  if (!page_token.empty() &&
      (!absl::SimpleAtoi(page_token, &left) || left > runners_.size())) {
    return absl::InvalidArgumentError(
        absl::StrCat("page_token must be the next_page_token of an answer, "
                     "got \"",
                     page_token, "\""));
  }
  JobPage page;
  for (; left > 0 && page.jobs.size() < count; --left) {
    page.jobs.push_back(runners_[left - 1].job());
  }
  if (left > 0) page.next_page_token = absl::StrCat(left);
  return page;
}

absl::StatusOr<Job> Orchestrator::CancelJob(const std::string& job_id) {
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(job_id);
  if (!runner.ok()) return runner.status();
  const Job& job = (*runner)->job();
  if (IsFinal(job.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "job ", job_id,
        " has already ended: ", std::string(JobStateName(job.state))));
  }
  (*runner)->Cancel();
  changed_.NotifyAll();
  return job;
}

absl::Status Orchestrator::WatchJob(const std::string& job_id,
                                    int64_t after_revision,
                                    std::weak_ptr<JobWatcher> watcher) {
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(job_id);
  if (!runner.ok()) return runner.status();
  subscriptions_.push_back({.job_id = job_id,
                            .sent_revision = after_revision,
                            .next = absl::InfinitePast(),
                            .watcher = std::move(watcher)});
  changed_.NotifyAll();
  return absl::OkStatus();
}

bool Orchestrator::CancelAll(absl::Duration limit) {
  const absl::Time deadline = clock_.Now() + limit;
  MutexLock lock(mutex_);
  for (JobRunner& runner : runners_) {
    if (!IsFinal(runner.job().state)) runner.Cancel();
  }
  changed_.NotifyAll();
  const auto runs = [](const JobRunner& r) { return !IsFinal(r.job().state); };
  while (std::any_of(runners_.begin(), runners_.end(), runs)) {
    const absl::Duration left = deadline - clock_.Now();
    if (left <= absl::ZeroDuration()) return false;
    changed_.WaitFor(mutex_, left);
  }
  return true;
}

// --- Membership ---------------------------------------------------------

absl::StatusOr<Assignment> Orchestrator::Register(const std::string& job_id,
                                                  const Member& member) {
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(job_id);
  if (!runner.ok()) return runner.status();
  changed_.NotifyAll();
  return (*runner)->Register(member, clock_.Now());
}

absl::StatusOr<Directive> Orchestrator::HearFrom(const std::string& job_id,
                                                 const Member& member,
                                                 const MemberStatus& status) {
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(job_id);
  if (!runner.ok()) return runner.status();
  changed_.NotifyAll();
  return (*runner)->HearFrom(member, status, clock_.Now());
}

// --- Ends of processes: from the placement's thread -----------------------

void Orchestrator::OnEnd(const PlacedProcess& process, const ProcessEnd& end) {
  log_.info("{} of job {} ended: {}{}{}", SlotName(process.slot),
            process.job_id, Description(end),
            end.last_log_line.empty() ? "" : ": ", end.last_log_line);
  if (process.slot.role == Role::kEvaluation) {
    OnEvaluationEnd(process, end);
    return;
  }
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(process.job_id);
  if (runner.ok()) (*runner)->ProcessEnded(process, end, clock_.Now());
  changed_.NotifyAll();
}

void Orchestrator::OnEvaluationEnd(const PlacedProcess& process,
                                   const ProcessEnd& end) {
  std::string path;
  {
    MutexLock lock(mutex_);
    const absl::StatusOr<JobRunner*> runner = FindRunner(process.job_id);
    if (runner.ok()) path = (*runner)->evaluation_path();
  }
  const absl::StatusOr<Evaluation> result = ReadEvaluationFile(path);
  MutexLock lock(mutex_);
  const absl::StatusOr<JobRunner*> runner = FindRunner(process.job_id);
  if (runner.ok()) {
    (*runner)->EvaluationEnded(process, end, result, clock_.Now());
  }
  changed_.NotifyAll();
}

// --- The thread ---------------------------------------------------------

void Orchestrator::Run() {
  for (;;) {
    const Round round = AwaitRound();
    if (round.stop) return;
    for (const Order& order : round.orders) {
      std::visit([this](const auto& it) { Execute(it); }, order);
    }
    for (const Delivery& delivery : round.deliveries) {
      delivery.watcher->OnJob(delivery.job, IsFinal(delivery.job.state));
    }
    // Last: a busy disk may take seconds, and a dead process is replaced by
    // what is known here, not by what is stored.
    for (const Job& job : round.saves) Store(job);
  }
}

Orchestrator::Round Orchestrator::AwaitRound() {
  MutexLock lock(mutex_);
  for (;;) {
    Round round{.stop = stopping_};
    if (round.stop) return round;
    const absl::Time now = clock_.Now();
    absl::Time wake = absl::InfiniteFuture();
    CollectOrders(now, round, wake);
    CollectDeliveries(now, round, wake);
    if (!round.empty()) {
      changed_.NotifyAll();  // CancelAll() waits for final states.
      return round;
    }
    if (wake == absl::InfiniteFuture()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitFor(mutex_, wake - now);
    }
  }
}

void Orchestrator::CollectOrders(absl::Time now, Round& round,
                                 absl::Time& wake) {
  bool one_runs = false;
  for (JobRunner& runner : runners_) {
    // The younger ones wait, but can be cancelled.
    if (one_runs && !runner.observed().cancel_requested) continue;
    for (Order& order : runner.Step(now)) {
      if (std::holds_alternative<SaveOrder>(order)) {
        round.saves.push_back(runner.job());
      } else {
        round.orders.push_back(std::move(order));
      }
    }
    wake = std::min(wake, runner.wake());
    one_runs = one_runs || !IsFinal(runner.job().state);
  }
}

void Orchestrator::CollectDeliveries(absl::Time now, Round& round,
                                     absl::Time& wake) {
  std::erase_if(subscriptions_, [](const Subscription& subscription) {
    return subscription.watcher.expired();
  });
  for (Subscription& subscription : subscriptions_) {
    const absl::StatusOr<JobRunner*> runner = FindRunner(subscription.job_id);
    if (!runner.ok()) continue;
    const Job& job = (*runner)->job();
    const bool ended = IsFinal(job.state);
    if (job.revision <= subscription.sent_revision && !ended) continue;
    if (now < subscription.next && !ended) {
      wake = std::min(wake, subscription.next);
      continue;
    }
    subscription.sent_revision = job.revision;
    subscription.next = now + kWatchInterval;
    if (auto watcher = subscription.watcher.lock()) {
      round.deliveries.push_back({std::move(watcher), job});
    }
    if (ended) subscription.watcher.reset();  // That was the last one.
  }
}

void Orchestrator::Execute(const ProcessOrder& order) {
  log_.info("starting {} of job {}", SlotName(order.process.slot),
            order.process.job_id);
  const absl::Status status = placement_->Start(
      order,
      [this](const auto& process, const auto& end) { OnEnd(process, end); });
  if (status.ok()) return;
  // What cannot be found now will not be found later; else it may pass.
  OnEnd(order.process,
        {.exit_code = 1,
         .never_started = status.code() == absl::StatusCode::kNotFound,
         .last_log_line = std::string(status.message())});
}

void Orchestrator::Execute(const StopOrder& order) {
  log_.info("stopping {} of job {}", SlotName(order.process.slot),
            order.process.job_id);
  placement_->Stop(order.process);
}

void Orchestrator::Execute(const KillOrder& order) {
  log_.warn("killing {} of job {}: {}", SlotName(order.process.slot),
            order.process.job_id, order.reason);
  placement_->Kill(order.process);
}

void Orchestrator::Store(const Job& job) {
  const std::string news = absl::StrCat(
      "job ", job.job_id, " is ", std::string(JobStateName(job.state)),
      job.message.empty() ? "" : ": ", job.message);
  if (news != newest_logged_) log_.info("{}", news);
  newest_logged_ = news;
  const absl::Status status =
      store_.Update({.job_id = job.job_id, .job = JobBytes(job)});
  // Training does not stop because the store cannot be written.
  if (!status.ok()) log_.error("{}", std::string(status.message()));
}

}  // namespace flywheel
