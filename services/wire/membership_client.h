#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/member_status.h"

namespace flywheel {

// Keeps one process a member of its job: registers, then sends a heartbeat with
// the newest status every 500 ms (100 ms in its first 5 s) from a thread of its
// own.
//
// When the orchestrator says drain or fenced, or is silent for
// `silence_limit`, it requests a stop on `stop` and remembers why.
//
// Thread-safe.
class MembershipClient {
 public:
  struct Options {
    std::string orchestrator;  // "unix:/tmp/x/orchestrator.sock", "host:port".
    std::string job_id;
    Member member;
    int admin_port = 0;
    absl::Duration join_limit = absl::Seconds(30);
    absl::Duration silence_limit = absl::Seconds(5);
  };

  enum class EndReason { kNone, kDrain, kFenced, kOrchestratorGone };

  // Registers, trying again until `join_limit`, then starts the heartbeat
  // thread. Unavailable: the orchestrator was not reached; FailedPrecondition:
  // fenced.
  static absl::StatusOr<std::unique_ptr<MembershipClient>> Join(
      const Options& options, std::stop_source stop);

  virtual ~MembershipClient() = default;  // Sends the last status, joins.

  virtual const Assignment& assignment() const = 0;

  // Replaces the status the next heartbeat carries.
  virtual void Report(MemberStatus status) = 0;

  // Sends the status now and waits for the answer, at most `timeout`.
  virtual absl::Status ReportNow(MemberStatus status,
                                 absl::Duration timeout) = 0;

  virtual EndReason end_reason() const = 0;
};

}  // namespace flywheel
