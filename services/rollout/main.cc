// Collects experience for one job until it is told to stop.

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "services/core/clock.h"
#include "services/core/status_macros.h"
#include "services/policy/policy.h"
#include "services/rollout/network_policy.h"
#include "services/rollout/rollout_metrics.h"
#include "services/rollout/rollout_worker.h"
#include "services/rollout/task_schema.h"
#include "services/wire/service_process.h"
#include "services/wire/zmq_context_channel.h"
#include "sim/environment_pool.h"

namespace flywheel {
namespace {

constexpr absl::Duration kReportEvery = absl::Milliseconds(500);

// Turns the worker until a stop is requested.
absl::Status Work(RolloutWorker& worker, ServiceContext& service) {
  RolloutMetrics metrics(service.admin.registry());
  absl::Time reported = absl::InfinitePast();
  while (!service.stop.stop_requested()) {
    FLYWHEEL_RETURN_IF_ERROR(worker.RunOnce());
    service.admin.Beat();
    const absl::Time now = absl::Now();
    if (now - reported < kReportEvery) continue;
    reported = now;
    const RolloutStatus status = worker.Status();
    metrics.Set(status);
    service.membership.Report(status);
  }
  service.membership.Report(worker.Status());
  return absl::OkStatus();
}

absl::Status Collect(ServiceContext& service) {
  const Assignment& assignment = service.assignment;
  const JobSpec& job = assignment.job;
  SetPolicyThreads(1);
  absl::StatusOr<std::unique_ptr<EnvironmentPool>> pool =
      EnvironmentPool::Create(
          {.task = job.task,
           .num_environments = job.resources.environments_per_rollout,
           .num_threads = job.resources.threads_per_rollout});
  if (!pool.ok()) return pool.status();
  const TaskSpec& task = (*pool)->spec();
  if (job.pretraining.scripted && !task.has_expert) {
    return absl::InvalidArgumentError(
        absl::StrCat("pretraining.demonstrations is \"scripted\", but task ",
                     task.name, " has no scripted expert"));
  }
  absl::StatusOr<std::unique_ptr<ActingPolicy>> policy =
      MakeNetworkPolicy(task, job.policy);
  if (!policy.ok()) return policy.status();

  const auto index = static_cast<uint64_t>(service.member.index);
  const std::string identity =
      absl::StrCat("rollout-", index, ".", service.member.incarnation);
  ZmqContext context;
  absl::StatusOr<DealerChannel> to_buffer = DealerChannel::Connect(
      context, {.endpoint = assignment.buffer_endpoint, .identity = identity});
  if (!to_buffer.ok()) return to_buffer.status();
  absl::StatusOr<DealerChannel> to_learner = DealerChannel::Connect(
      context, {.endpoint = assignment.policy_endpoint, .identity = identity});
  if (!to_learner.ok()) return to_learner.status();

  const MonotonicClock clock;
  const uint64_t environments = job.resources.environments_per_rollout;
  BufferLink buffer(
      *std::move(to_buffer),
      {.worker = index,
       .incarnation = static_cast<uint64_t>(service.member.incarnation),
       .schema = TaskSchema(task, job.policy),
       .first_environment = index * environments,
       .num_environments = environments},
      clock);
  PolicyLink policies(*std::move(to_learner), {.worker = index}, clock);
  RolloutWorker worker(
      {.job = job,
       .worker = index,
       .incarnation = static_cast<uint64_t>(service.member.incarnation)},
      **pool, **policy, buffer, policies, clock);
  return Work(worker, service);
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  return flywheel::RunService(flywheel::Role::kRollout, argc, argv,
                              flywheel::Collect);
}
