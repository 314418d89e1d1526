#include "services/buffer/buffer_metrics.h"

#include <cstdint>
#include <map>
#include <string>

namespace flywheel {
namespace {

prometheus::Gauge& AddGauge(prometheus::Registry& registry,
                            const std::string& name, const std::string& help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(
      {});
}

prometheus::Family<prometheus::Counter>& AddCounters(
    prometheus::Registry& registry, const std::string& name,
    const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}

// A counter can only be raised.
void RaiseTo(prometheus::Counter& counter, double value) {
  if (value > counter.Value()) counter.Increment(value - counter.Value());
}

template <typename Value>
void RaiseAll(prometheus::Family<prometheus::Counter>& family,
              const std::string& label,
              const std::map<std::string, Value>& values) {
  for (const auto& [key, value] : values) {
    RaiseTo(family.Add({{label, key}}), static_cast<double>(value));
  }
}

}  // namespace

BufferMetrics::BufferMetrics(prometheus::Registry& registry)
    : out_(AddGauge(registry, "flywheel_buffer_credits_out",
                    "Credits rollouts hold.")),
      ready_(AddGauge(registry, "flywheel_buffer_credits_ready",
                      "Credits whose trajectories wait for a train step.")),
      waiting_environments_(AddGauge(registry,
                                     "flywheel_buffer_waiting_environments",
                                     "Environments that wait for a credit.")),
      backlog_limit_(
          AddGauge(registry, "flywheel_buffer_backlog_limit_credits",
                   "Credits that may be out, ready and in training together.")),
      records_(AddGauge(registry, "flywheel_buffer_records",
                        "Records held, in tables and lists.")),
      stored_bytes_(AddGauge(registry, "flywheel_buffer_stored_bytes",
                             "Bytes of the records held.")),
      demonstrations_(AddGauge(registry, "flywheel_buffer_demonstrations",
                               "Demonstration episodes held.")),
      next_train_step_(AddGauge(registry, "flywheel_buffer_next_train_step",
                                "The train step to be listed next.")),
      given_(AddCounters(registry, "flywheel_buffer_credits_given_total",
                         "Credits given.")
                 .Add({})),
      called_in_(AddCounters(registry,
                             "flywheel_buffer_credits_called_in_total",
                             "Credits called in before their end.")
                     .Add({})),
      lists_(AddCounters(registry, "flywheel_buffer_lists_total",
                         "Lists made for train steps.")
                 .Add({})),
      lists_evicted_(AddCounters(registry,
                                 "flywheel_buffer_lists_evicted_total",
                                 "Lists forgotten for want of memory.")
                         .Add({})),
      listed_by_lag_(AddCounters(
          registry, "flywheel_buffer_listed_credits_total",
          "Credits in lists, by policy lag in train steps: 0 to 16, or more.")),
      drops_(AddCounters(registry, "flywheel_buffer_dropped_trajectories_total",
                         "Trajectories refused or revoked, by reason.")),
      refusals_(AddCounters(registry, "flywheel_buffer_refused_messages_total",
                            "Messages that broke a rule, by reason.")),
      seconds_(AddCounters(registry, "flywheel_buffer_seconds_total",
                           "Where the work loop's time went, by cause.")) {}

void BufferMetrics::Update(const BufferServer& server,
                           const BufferStatus& status) {
  out_.Set(static_cast<double>(status.credits_out));
  ready_.Set(static_cast<double>(status.credits_ready));
  waiting_environments_.Set(
      static_cast<double>(server.rollouts().num_waiting()));
  backlog_limit_.Set(static_cast<double>(server.pacer().backlog_limit()));
  records_.Set(static_cast<double>(status.items));
  stored_bytes_.Set(static_cast<double>(status.bytes));
  demonstrations_.Set(static_cast<double>(status.demonstrations));
  next_train_step_.Set(static_cast<double>(status.train_step));
  RaiseTo(given_, static_cast<double>(server.rollouts().num_credits_given()));
  RaiseTo(called_in_,
          static_cast<double>(server.rollouts().num_credits_called_in()));
  RaiseTo(lists_, static_cast<double>(server.learners().num_lists()));
  RaiseTo(lists_evicted_, static_cast<double>(server.store().lists_evicted()));
  std::map<std::string, int64_t> by_lag;  // Few labels, however large the lag.
  for (const auto& [lag, credits] : server.learners().lag_counts()) {
    by_lag[lag <= 16 ? std::to_string(lag) : "more"] += credits;
  }
  RaiseAll(listed_by_lag_, "lag", by_lag);
  RaiseAll(drops_, "reason", status.drops);
  RaiseAll(refusals_, "reason", server.outbox().refusals());
  RaiseAll(seconds_, "cause", status.seconds_by_cause);
}

}  // namespace flywheel
