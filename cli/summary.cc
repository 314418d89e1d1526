#include "cli/summary.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "absl/time/time.h"
#include "cli/json_value.h"
#include "cli/version.h"

namespace flywheel {
namespace {

using nlohmann::ordered_json;

ordered_json NumberOrNull(double value) {
  return std::isfinite(value) ? ordered_json(value) : ordered_json();
}

ordered_json Seconds(const std::optional<absl::Time>& from,
                     const std::optional<absl::Time>& to) {
  if (!from || !to) return nullptr;
  return absl::ToDoubleSeconds(*to - *from);
}

ordered_json TimeText(const std::optional<absl::Time>& time) {
  if (!time) return nullptr;
  return absl::FormatTime("%Y-%m-%d %H:%M:%S", *time, absl::LocalTimeZone());
}

ordered_json EvaluationJson(const Evaluation& evaluation) {
  return {{"checkpoint", evaluation.checkpoint},
          {"policy_version", evaluation.policy_version},
          {"environment_steps", evaluation.environment_steps},
          {"seconds_trained", NumberOrNull(evaluation.seconds_trained)},
          {"episodes", evaluation.episodes},
          {"episode_return_mean", NumberOrNull(evaluation.episode_return_mean)},
          {"episode_return_std", NumberOrNull(evaluation.episode_return_std)},
          {"success_rate", NumberOrNull(evaluation.success_rate)},
          {"final", evaluation.final}};
}

ordered_json RecoveryJson(const Restart& restart) {
  return {{"role", RoleName(restart.role)},
          {"index", restart.index},
          {"reason", restart.reason},
          {"died", TimeText(restart.died)},
          {"seconds_to_rejoin", Seconds(restart.died, restart.rejoined)},
          {"seconds_to_produce", Seconds(restart.died, restart.producing)},
          {"train_steps_lost", restart.train_steps_lost}};
}

ordered_json PolicyLagJson(const Job& job, const LearnerStatus& learner,
                           const MetricsTable& metrics) {
  const LagFigures lag = LagOf(learner.policy_lag_counts);
  // The counts are those of the last learner process; the metrics remember
  // what all of them trained on.
  const double measured = metrics.Max("training", "policy_lag_max");
  const int64_t max = std::isfinite(measured)
                          ? std::max<int64_t>(lag.max, std::llround(measured))
                          : lag.max;
  return {{"mean", lag.mean},
          {"p50", lag.p50},
          {"p99", lag.p99},
          {"max", max},
          {"limit", job.spec.pacing.max_policy_lag}};
}

ordered_json IdleJson(const Job& job) {
  std::vector<std::map<std::string, double>> rollouts, buffer, learner;
  for (const RolloutStatus& rollout : job.rollouts) {
    rollouts.push_back(rollout.seconds_by_cause);
  }
  if (job.buffer) buffer.push_back(job.buffer->seconds_by_cause);
  if (job.learner) learner.push_back(job.learner->seconds_by_cause);
  return {{"rollout", Shares(rollouts)},
          {"buffer", Shares(buffer)},
          {"learner", Shares(learner)}};
}

const Evaluation* FinalEvaluation(const Job& job) {
  const auto found =
      std::find_if(job.evaluations.rbegin(), job.evaluations.rend(),
                   [](const Evaluation& e) { return e.final; });
  return found == job.evaluations.rend() ? nullptr : &*found;
}

void AddToMax(const std::map<std::string, int64_t>& counts,
              std::map<std::string, int64_t>& max) {
  for (const auto& [reason, count] : counts) {
    max[reason] = std::max(max[reason], count);
  }
}

}  // namespace

LagFigures LagOf(const std::map<int64_t, int64_t>& counts) {
  double total = 0, weighted = 0;
  for (const auto& [lag, count] : counts) {
    total += static_cast<double>(count);
    weighted += static_cast<double>(lag) * static_cast<double>(count);
  }
  if (total <= 0) return {};
  LagFigures figures{.mean = weighted / total};
  const auto percentile = [&](double share) {
    double below = 0;
    int64_t last = 0;
    for (const auto& [lag, count] : counts) {
      if (count <= 0) continue;
      below += static_cast<double>(count);
      last = lag;
      if (below >= share * total) break;
    }
    return last;
  };
  figures.p50 = percentile(0.5);
  figures.p99 = percentile(0.99);
  figures.max = percentile(1);
  return figures;
}

std::map<std::string, double> Shares(
    const std::vector<std::map<std::string, double>>& seconds_by_cause) {
  std::map<std::string, double> shares;
  double total = 0;
  for (const auto& seconds : seconds_by_cause) {
    for (const auto& [cause, value] : seconds) {
      if (!(value >= 0) || !std::isfinite(value)) continue;
      shares[cause] += value;
      total += value;
    }
  }
  if (total <= 0) return {};
  for (auto& [cause, share] : shares) share /= total;
  return shares;
}

std::map<std::string, int64_t> Drops(const Job& job) {
  std::map<std::string, int64_t> of_rollouts, drops;
  for (const RolloutStatus& rollout : job.rollouts) {
    for (const auto& [reason, count] : rollout.drops) {
      of_rollouts[reason] += count;
    }
  }
  AddToMax(of_rollouts, drops);
  if (job.buffer) AddToMax(job.buffer->drops, drops);
  return drops;
}

ordered_json Summary(const Job& job, const MetricsTable& metrics) {
  const LearnerStatus learner = job.learner.value_or(LearnerStatus{});
  const Evaluation* const final = FinalEvaluation(job);
  const auto steps = static_cast<double>(learner.environment_steps);
  ordered_json summary;
  summary["name"] = job.spec.name;
  summary["task"] = job.spec.task;
  summary["seed"] = job.spec.seed;
  summary["job_id"] = job.job_id;
  summary["state"] = JobStateName(job.state);
  summary["message"] = job.message;
  summary["started"] = TimeText(job.created);
  summary["finished"] = TimeText(job.finished);
  summary["environment_steps"] = learner.environment_steps;
  summary["seconds"] = NumberOrNull(learner.seconds);
  summary["environment_steps_per_second"] =
      NumberOrNull(learner.seconds > 0 ? steps / learner.seconds : 0);
  summary["train_steps"] = learner.train_steps;
  summary["episode_return_mean"] =
      final ? NumberOrNull(final->episode_return_mean) : nullptr;
  summary["success_rate"] = final ? NumberOrNull(final->success_rate) : nullptr;
  summary["training"] = {
      {"episode_return_mean", NumberOrNull(learner.episode_return_mean)},
      {"success_rate", NumberOrNull(learner.success_rate)},
      {"episodes", learner.episodes}};
  summary["policy_lag"] = PolicyLagJson(job, learner, metrics);
  summary["idle"] = IdleJson(job);
  summary["drops"] = Drops(job);
  summary["restarts"] = job.restarts;
  summary["recoveries"] = ordered_json::array();
  for (const Restart& restart : job.recoveries) {
    summary["recoveries"].push_back(RecoveryJson(restart));
  }
  summary["evaluations"] = ordered_json::array();
  for (const Evaluation& evaluation : job.evaluations) {
    summary["evaluations"].push_back(EvaluationJson(evaluation));
  }
  summary["versions"] = Versions();
  return summary;
}

void AddEarlierEvaluations(const nlohmann::json& earlier,
                           ordered_json& summary) {
  const auto known = [&](const nlohmann::json& evaluation) {
    return std::any_of(summary["evaluations"].begin(),
                       summary["evaluations"].end(),
                       [&](const ordered_json& e) {
                         return e.value("policy_version", int64_t{-1}) ==
                                evaluation.value("policy_version", int64_t{-2});
                       });
  };
  ordered_json all = ordered_json::array();
  for (nlohmann::json evaluation : ValueAt(earlier, {"evaluations"})) {
    if (!evaluation.is_object() || known(evaluation)) continue;
    evaluation["final"] = false;
    all.push_back(ordered_json(evaluation));
  }
  for (const ordered_json& evaluation : summary["evaluations"]) {
    all.push_back(evaluation);
  }
  summary["evaluations"] = std::move(all);
}

}  // namespace flywheel
