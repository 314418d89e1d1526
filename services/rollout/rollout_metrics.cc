#include "services/rollout/rollout_metrics.h"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

namespace flywheel {

struct RolloutMetrics::Families {
  using Family = prometheus::Family<prometheus::Gauge>;

  explicit Families(prometheus::Registry& registry)
      : environment_steps(prometheus::BuildGauge()
                              .Name("flywheel_rollout_environment_steps")
                              .Help("Environment steps of this process")
                              .Register(registry)),
        episodes(prometheus::BuildGauge()
                     .Name("flywheel_rollout_episodes")
                     .Help("Episodes finished by this process")
                     .Register(registry)),
        policy_version(prometheus::BuildGauge()
                           .Name("flywheel_rollout_policy_version")
                           .Help("Version acted with; -1 before the first")
                           .Register(registry)),
        drops(prometheus::BuildGauge()
                  .Name("flywheel_rollout_dropped_trajectories")
                  .Help("Trajectories given up, by reason")
                  .Register(registry)),
        seconds(prometheus::BuildGauge()
                    .Name("flywheel_rollout_spent_seconds")
                    .Help("Wall time of the collecting thread, by cause")
                    .Register(registry)) {}

  Family& environment_steps;
  Family& episodes;
  Family& policy_version;
  Family& drops;
  Family& seconds;
};

RolloutMetrics::RolloutMetrics(prometheus::Registry& registry)
    : families_(std::make_unique<Families>(registry)) {}

RolloutMetrics::~RolloutMetrics() = default;

void RolloutMetrics::Set(const RolloutStatus& status) {
  families_->environment_steps.Add({}).Set(
      static_cast<double>(status.environment_steps));
  families_->episodes.Add({}).Set(static_cast<double>(status.episodes));
  families_->policy_version.Add({}).Set(
      static_cast<double>(status.policy_version));
  for (const auto& [reason, count] : status.drops) {
    families_->drops.Add({{"reason", reason}}).Set(static_cast<double>(count));
  }
  for (const auto& [cause, seconds] : status.seconds_by_cause) {
    families_->seconds.Add({{"cause", cause}}).Set(seconds);
  }
}

}  // namespace flywheel
