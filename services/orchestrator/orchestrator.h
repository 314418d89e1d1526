#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/clock.h"
#include "services/core/job_request.h"
#include "services/core/job_status.h"
#include "services/core/mutex.h"
#include "services/orchestrator/job_runner.h"
#include "services/orchestrator/job_store.h"
#include "services/orchestrator/job_watcher.h"
#include "services/orchestrator/placement.h"

namespace spdlog {
class logger;
}

namespace flywheel {

// Part of the list of jobs, newest first.
struct JobPage {
  std::vector<Job> jobs;
  std::string next_page_token;  // Empty: no more.
};

// Accepts jobs, keeps them in a store, and brings them to their end, one after
// the other: a second job stays PENDING until the first has ended.
//
// Requests and news come from any thread and are answered at once; a thread of
// its own then decides what follows and does whatever waits: starting and
// signaling processes, storing, telling watchers.
//
// Thread-safe.
class Orchestrator {
 public:
  struct Options {
    std::string address;        // Where services find this orchestrator.
    std::string socket_folder;  // For the data sockets of its services.
    std::string runs_folder;    // For jobs that name no run folder.
    ReconcileLimits limits;
  };

  // `store`, `clock` and `log` must outlive it.
  Orchestrator(const Options& options, JobStore& store,
               std::unique_ptr<Placement> placement, const Clock& clock,
               spdlog::logger& log);

  // Ends every process that still runs, without waiting for it to drain.
  ~Orchestrator();

  // Reads the jobs of former lives; those that had not ended have failed. Call
  // it before anything else.
  absl::Status Load();

  // Jobs; jobs.proto says what each does and fails with.
  absl::StatusOr<Job> CreateJob(const JobRequest& request);
  absl::StatusOr<Job> GetJob(const std::string& job_id);
  absl::StatusOr<JobPage> ListJobs(int page_size,
                                   const std::string& page_token);
  absl::StatusOr<Job> CancelJob(const std::string& job_id);

  // Tells `watcher` of every revision after `after_revision`, at most every
  // 200 ms, until it is destroyed or the job has ended.
  absl::Status WatchJob(const std::string& job_id, int64_t after_revision,
                        std::weak_ptr<JobWatcher> watcher);

  // Membership; membership.proto says what each does and fails with.
  absl::StatusOr<Assignment> Register(const std::string& job_id,
                                      const Member& member);
  absl::StatusOr<Directive> HearFrom(const std::string& job_id,
                                     const Member& member,
                                     const MemberStatus& status);

  // Cancels every job and waits until all have ended; false if `limit` passed
  // first.
  bool CancelAll(absl::Duration limit);

 private:
  struct Subscription {
    std::string job_id;
    int64_t sent_revision = 0;
    absl::Time next;
    std::weak_ptr<JobWatcher> watcher;
  };
  struct Delivery {
    std::shared_ptr<JobWatcher> watcher;
    Job job;
  };
  // What the thread does next, without the lock.
  struct Round {
    bool stop = false;
    std::vector<Order> orders;
    std::vector<Job> saves;
    std::vector<Delivery> deliveries;

    bool empty() const {
      return orders.empty() && saves.empty() && deliveries.empty();
    }
  };

  // The thread.
  void Run();
  Round AwaitRound();
  void CollectOrders(absl::Time now, Round& round, absl::Time& wake)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CollectDeliveries(absl::Time now, Round& round, absl::Time& wake)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Execute(const ProcessOrder& order);
  void Execute(const StopOrder& order);
  void Execute(const KillOrder& order);
  void Execute(const SaveOrder&) {}  // Collected as a job.
  void Store(const Job& job);

  void OnEnd(const PlacedProcess& process, const ProcessEnd& end);
  void OnEvaluationEnd(const PlacedProcess& process, const ProcessEnd& end);

  absl::StatusOr<Job> NewJob(const JobRequest& request);
  absl::StatusOr<Job> JobOfRequest(const StoredRequest& stored,
                                   const std::string& fingerprint);
  JobRunner MakeRunner(Job job) const;
  absl::StatusOr<JobRunner*> FindRunner(const std::string& job_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Constant after construction.
  const Options options_;
  JobStore& store_;
  const Clock& clock_;
  spdlog::logger& log_;

  Mutex creation_;  // One job is made at a time.

  Mutex mutex_;
  CondVar changed_;
  std::vector<JobRunner> runners_ ABSL_GUARDED_BY(mutex_);  // Oldest first.
  std::vector<Subscription> subscriptions_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::string newest_logged_;             // The thread's own.
  std::unique_ptr<Placement> placement_;  // Its callbacks come here.
  std::thread thread_;
};

}  // namespace flywheel
