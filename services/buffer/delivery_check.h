#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "services/buffer/record_check.h"
#include "services/buffer/rejection.h"
#include "services/buffer/stored_record.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// Decides whether all that one credit brought may be stored: each record by
// RecordCheck, and together no more than the credit is leave for.
//
// Constant after construction.
class DeliveryCheck {
 public:
  struct Options {
    int64_t unroll_length = 32;   // Chunks of a training credit, at most.
    uint64_t records_max = 4095;  // Of one credit, so that a list fits into one
                                  // message.
  };

  DeliveryCheck(TrajectorySchema schema, const Options& options);

  // The records with their headers, or why they are refused. REQUIRES: at least
  // one frame.
  std::variant<std::vector<StoredRecord>, Rejection> Check(
      std::span<const MessageFrame> frames,
      const ExpectedRecord& expected) const;

  const TrajectorySchema& schema() const { return record_check_.schema(); }
  uint64_t schema_hash() const { return record_check_.schema_hash(); }

 private:
  std::optional<Rejection> CheckTraining(
      std::span<const StoredRecord> records) const;
  std::optional<Rejection> CheckDemonstration(
      std::span<const StoredRecord> records) const;

  const RecordCheck record_check_;
  const Options options_;
};

}  // namespace flywheel
