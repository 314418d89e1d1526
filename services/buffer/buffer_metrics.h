#pragma once

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include "services/buffer/buffer_server.h"
#include "services/core/member_status.h"

namespace flywheel {

// What the buffer shows on /metrics, copied from the work loop now and then.
//
// Not thread-safe, except that the registry may be scraped meanwhile.
class BufferMetrics {
 public:
  // `registry` must outlive it.
  explicit BufferMetrics(prometheus::Registry& registry);

  void Update(const BufferServer& server, const BufferStatus& status);

 private:
  using Counters = prometheus::Family<prometheus::Counter>;

  prometheus::Gauge& out_;
  prometheus::Gauge& ready_;
  prometheus::Gauge& waiting_environments_;
  prometheus::Gauge& backlog_limit_;
  prometheus::Gauge& records_;
  prometheus::Gauge& stored_bytes_;
  prometheus::Gauge& demonstrations_;
  prometheus::Gauge& next_train_step_;
  prometheus::Counter& given_;
  prometheus::Counter& called_in_;
  prometheus::Counter& lists_;
  prometheus::Counter& lists_evicted_;
  Counters& listed_by_lag_;
  Counters& drops_;
  Counters& refusals_;
  Counters& seconds_;
};

}  // namespace flywheel
