#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "services/buffer/buffer_server.h"
#include "services/core/clock.h"
#include "services/core/job_spec.h"
#include "services/core/member_status.h"
#include "services/core/time_ledger.h"
#include "services/wire/router_channel.h"

namespace flywheel {

// The buffer's work loop: joins a BufferServer with its socket and the clock.
//
// Not thread-safe: the thread that runs it owns the socket.
class BufferLoop {
 public:
  // `clock` must outlive the loop. REQUIRES: BufferServer::CheckJob(job).ok().
  BufferLoop(RouterChannel router, const JobSpec& job, uint64_t incarnation,
             const Clock& clock);

  BufferLoop(const BufferLoop&) = delete;
  BufferLoop& operator=(const BufferLoop&) = delete;

  // Waits a moment for messages, takes in those that are there, and does what
  // has become possible. An error means that the socket is lost.
  absl::Status RunOnce();

  BufferStatus Status();

  const BufferServer& server() const { return server_; }

 private:
  RouterChannel router_;
  const Clock& clock_;
  BufferServer server_;
  TimeLedger ledger_{"busy"};
};

}  // namespace flywheel
