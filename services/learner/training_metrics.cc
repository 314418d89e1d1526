#include "services/learner/training_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <cmath>

#include "services/learner/ppo_learner.h"

namespace flywheel {
namespace {

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name,
                             const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(
      {});
}

}  // namespace

struct TrainingMetrics::Families {
  explicit Families(prometheus::Registry& registry)
      : train_steps(MakeGauge(registry, "flywheel_learner_train_steps",
                              "Train steps of the run, resumes included")),
        environment_steps(MakeGauge(registry,
                                    "flywheel_learner_environment_steps",
                                    "Environment steps trained on")),
        episode_return(MakeGauge(registry, "flywheel_learner_episode_return",
                                 "Mean return of the last 100 episodes")),
        success(MakeGauge(registry, "flywheel_learner_success_ratio",
                          "Success rate of the last 100 episodes")),
        policy_loss(MakeGauge(registry, "flywheel_learner_policy_loss",
                              "Policy loss of the newest train step")),
        value_loss(MakeGauge(registry, "flywheel_learner_value_loss",
                             "Value loss of the newest train step")),
        kl(MakeGauge(registry, "flywheel_learner_behavior_kl_nats",
                     "KL of behavior and target policy (k3), newest step")),
        effective_samples(
            MakeGauge(registry, "flywheel_learner_effective_sample_ratio",
                      "Effective sample size over batch size, newest step")),
        learning_rate(MakeGauge(registry, "flywheel_learner_learning_rate",
                                "Learning rate of the newest step")),
        seconds(prometheus::BuildGauge()
                    .Name("flywheel_learner_spent_seconds")
                    .Help("Wall time of the training thread, by cause")
                    .Register(registry)),
        policy_lag(prometheus::BuildHistogram()
                       .Name("flywheel_learner_policy_lag_train_steps")
                       .Help("Policy lag of every chunk trained on")
                       .Register(registry)
                       .Add({}, prometheus::Histogram::BucketBoundaries{
                                    0, 1, 2, 3, 4, 6, 8, 16, 32})) {}

  prometheus::Gauge& train_steps;
  prometheus::Gauge& environment_steps;
  prometheus::Gauge& episode_return;
  prometheus::Gauge& success;
  prometheus::Gauge& policy_loss;
  prometheus::Gauge& value_loss;
  prometheus::Gauge& kl;
  prometheus::Gauge& effective_samples;
  prometheus::Gauge& learning_rate;
  prometheus::Family<prometheus::Gauge>& seconds;
  prometheus::Histogram& policy_lag;
};

TrainingMetrics::TrainingMetrics(prometheus::Registry& registry)
    : families_(std::make_unique<Families>(registry)) {}

TrainingMetrics::~TrainingMetrics() = default;

void TrainingMetrics::Observe(
    const TrainResult& result,
    const std::map<int64_t, int64_t>& policy_lag_counts) {
  families_->policy_loss.Set(result.policy_loss);
  families_->value_loss.Set(result.value_loss);
  families_->kl.Set(result.kl_k3);
  families_->effective_samples.Set(result.effective_sample_share);
  families_->learning_rate.Set(result.learning_rate);
  for (const auto& [lag, chunks] : policy_lag_counts) {
    for (int64_t i = 0; i < chunks; ++i) {
      families_->policy_lag.Observe(static_cast<double>(lag));
    }
  }
}

void TrainingMetrics::Set(const LearnerStatus& status) {
  families_->train_steps.Set(static_cast<double>(status.train_steps));
  families_->environment_steps.Set(
      static_cast<double>(status.environment_steps));
  families_->episode_return.Set(status.episode_return_mean);
  families_->success.Set(status.success_rate);
  for (const auto& [cause, seconds] : status.seconds_by_cause) {
    families_->seconds.Add({{"cause", cause}}).Set(seconds);
  }
}

}  // namespace flywheel
