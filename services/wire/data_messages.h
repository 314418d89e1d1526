#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "services/core/credit.h"
#include "services/core/policy_version.h"
#include "services/core/trajectory_schema.h"

namespace flywheel {

// The messages of buffer.proto as plain structs; meanings and units stand
// there. Records follow a message as frames of their own.

struct RolloutHello {
  TrajectorySchema schema;
  uint64_t first_environment = 0;
  uint64_t num_environments = 0;
  double environment_step_seconds = 0;
  std::vector<uint64_t> held_credits;
};

struct CreditRequest {
  std::vector<uint64_t> environments;
};

struct ActingVersion {
  PolicyVersion version;
};

struct Delivery {
  uint64_t sequence = 0;
  uint64_t credit = 0;
  uint32_t num_records = 0;
  double trajectory_seconds = 0;
};

struct LearnerHello {
  int64_t next_train_step = 0;
};

struct TakeRequest {
  int64_t step = 0;
  double waited_share = 0;
};

struct SampleRequest {
  std::string table;
  uint32_t n = 0;
  uint64_t request = 0;
  uint64_t min_items = 0;
};

struct Release {
  int64_t before_step = 0;
};

struct ToBuffer {
  uint64_t worker = 0;
  uint64_t incarnation = 0;
  std::variant<RolloutHello, CreditRequest, ActingVersion, Delivery,
               LearnerHello, TakeRequest, SampleRequest, Release>
      message;
};

struct Welcome {
  uint64_t acknowledged_through = 0;
  std::vector<uint64_t> held_credits;
};

struct CreditGrant {
  Credit credit;
};

struct CallIn {
  std::vector<uint64_t> credits;
};

struct Revocation {
  std::vector<uint64_t> credits;
  std::string reason;
};

struct Acknowledgment {
  uint64_t acknowledged_through = 0;
  std::string refused_reason;  // Empty: stored.
  std::string refused_message;
};

struct LearnerWelcome {
  std::optional<TrajectorySchema> schema;
  int64_t next_train_step = 0;
};

struct TakeReply {
  int64_t step = 0;
  uint32_t num_records = 0;
};

struct SampleReply {
  uint64_t request = 0;
  uint32_t num_records = 0;
  uint64_t table_items = 0;
};

struct Refusal {
  std::string reason;
  std::string message;
};

struct FromBuffer {
  uint64_t buffer_incarnation = 0;
  std::variant<Welcome, CreditGrant, CallIn, Revocation, Acknowledgment,
               LearnerWelcome, TakeReply, SampleReply, Refusal>
      message;
};

}  // namespace flywheel
