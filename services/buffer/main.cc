// The buffer's process: holds trajectories between rollouts and the learner,
// and gives the credits they are collected under.

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/buffer/buffer_loop.h"
#include "services/buffer/buffer_metrics.h"
#include "services/buffer/buffer_server.h"
#include "services/core/clock.h"
#include "services/core/status_macros.h"
#include "services/wire/router_channel.h"
#include "services/wire/service_process.h"
#include "services/wire/zmq_context_channel.h"

namespace flywheel {
namespace {

constexpr auto kReportEvery = std::chrono::milliseconds(500);

// Every environment of a rollout may be given a credit at once.
int MessagesPerPeer(const JobSpec& job) {
  return std::max(1024, 4 * job.resources.environments_per_rollout);
}

absl::Status Serve(ServiceContext& service) {
  const JobSpec& job = service.assignment.job;
  FLYWHEEL_RETURN_IF_ERROR(BufferServer::CheckJob(job));
  ZmqContext context;
  absl::StatusOr<RouterChannel> router = RouterChannel::Bind(
      context, {.endpoint = service.assignment.buffer_endpoint,
                .high_water_mark = MessagesPerPeer(job)});
  if (!router.ok()) return router.status();

  const MonotonicClock clock;
  BufferLoop loop(*std::move(router), job,
                  static_cast<uint64_t>(service.member.incarnation), clock);
  BufferMetrics metrics(service.admin.registry());
  const auto report = [&] {
    const BufferStatus status = loop.Status();
    metrics.Update(loop.server(), status);
    service.membership.Report(status);
  };

  auto reported = std::chrono::steady_clock::now() - kReportEvery;
  while (!service.stop.stop_requested()) {
    FLYWHEEL_RETURN_IF_ERROR(loop.RunOnce());
    service.admin.Beat();
    const auto now = std::chrono::steady_clock::now();
    if (now - reported < kReportEvery) continue;
    reported = now;
    report();
  }
  report();
  return absl::OkStatus();
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  return flywheel::RunService(flywheel::Role::kBuffer, argc, argv,
                              flywheel::Serve);
}
