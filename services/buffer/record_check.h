#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "services/buffer/rejection.h"
#include "services/core/credit.h"
#include "services/core/policy_version.h"
#include "services/core/trajectory_schema.h"
#include "services/wire/record.h"

namespace flywheel {

// Whose record it must be, and collected under what.
struct ExpectedRecord {
  uint64_t worker = 0;
  uint64_t incarnation = 0;
  Credit credit;
  PolicyVersion newest;  // No record can be of a newer version.
};

// Decides whether a delivered record may be trained on. It must parse, belong
// to its credit, and hold only finite numbers; where the schema has the columns
// of a job, they must agree with each other.
//
// Pure: the same bytes always get the same answer. Constant after construction.
class RecordCheck {
 public:
  explicit RecordCheck(TrajectorySchema schema);

  // Its header, or why it is refused: "schema", "stale" or "corrupt".
  std::variant<RecordHeader, Rejection> Check(
      std::span<const std::byte> bytes, const ExpectedRecord& expected) const;

  // Whether the last step ended the episode. True where the schema cannot tell.
  // REQUIRES: Check() accepted `bytes`.
  bool EndsEpisode(std::span<const std::byte> bytes) const;

  const TrajectorySchema& schema() const { return schema_; }
  uint64_t schema_hash() const { return schema_hash_; }

 private:
  std::optional<Rejection> CheckNumbers(const RecordView& view) const;
  std::optional<Rejection> CheckEndings(const RecordView& view) const;
  std::optional<Rejection> CheckChunks(const RecordView& view) const;

  const TrajectorySchema schema_;
  const uint64_t schema_hash_;

  // Indices of columns; -1 where the schema has none of this name and type.
  const int terminated_;
  const int truncated_;
  const int steps_executed_;
  const int behavior_version_;
  std::vector<int> float_columns_;
};

}  // namespace flywheel
