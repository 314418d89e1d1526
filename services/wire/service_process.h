#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "services/core/member_status.h"
#include "services/wire/admin_server.h"
#include "services/wire/membership_client.h"

namespace flywheel {

// What a service's work is given.
struct ServiceContext {
  const Assignment& assignment;
  Member member;
  MembershipClient& membership;
  AdminServer& admin;
  std::stop_token stop;  // Requested: drain and return.
};

// A flag of one service beside the common ones; it must be given.
struct ServiceFlag {
  std::string name;  // "--checkpoint"
  std::string meaning;
  std::string* value;  // Filled in before `work` runs.
};

// What every rollout, buffer, learner and evaluation process does around its
// work: blocks signals, asks to die with its parent, parses the common flags
// (--orchestrator, --job_id, --index, --incarnation), opens the admin server,
// joins the job, runs `work`, and turns its status into the exit code: 0 done,
// 1 failed, 64 configuration, 75 fenced or worth trying again.
//
// SIGTERM, a drain directive or a vanished orchestrator request a stop; a
// process that then takes more than 20 s is ended with 1. SIGINT is ignored: it
// is the launcher that stops its services, in order.
//
// The code follows from the status `work` returns: OK 0; InvalidArgument and
// FailedPrecondition 64; Unavailable, DeadlineExceeded and Aborted 75; anything
// else 1. Its message is the last line of the log.
int RunService(Role role, int argc, char** argv,
               const std::function<absl::Status(ServiceContext&)>& work,
               std::span<const ServiceFlag> more_flags = {});

}  // namespace flywheel
