#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace flywheel {

enum class ElementKind : uint8_t {
  kUint8 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kFloat32 = 4,
  kFloat64 = 5,
};

std::size_t ElementBytes(ElementKind kind);
std::string_view ElementName(ElementKind kind);  // "uint8", "float32", ...

// What one item of a column belongs to; gives the number of items.
enum class Granularity : uint8_t {
  kStep = 1,        // num_steps items.
  kChunk = 2,       // num_chunks items.
  kFinal = 3,       // One: after the last step.
  kTrajectory = 4,  // One, for all of it.
};

struct ColumnSchema {
  std::string name;  // "observation/image", "action"; unique in its schema.
  ElementKind element = ElementKind::kFloat32;
  std::vector<int64_t> shape;  // Of one item; empty: a scalar.
  Granularity granularity = Granularity::kChunk;
  // Items of any length along a first axis: u32 offsets [items + 1] in rows,
  // then the rows; `shape` is of one row.
  bool ragged = false;

  // Of one item, or of one row if ragged.
  std::size_t item_bytes() const;

  bool operator==(const ColumnSchema&) const = default;
};

// The columns of a record, in the order they are stored.
struct TrajectorySchema {
  std::vector<ColumnSchema> columns;

  // The column's index, or -1.
  int Find(std::string_view name) const;

  bool operator==(const TrajectorySchema&) const = default;
};

// Checks names (unique, 1 to 255 bytes), shapes (each size 1 to 2^31 - 1, one
// item at most 1 GiB), and at most 256 columns. Returns InvalidArgument naming
// the column and the rule.
absl::Status ValidateSchema(const TrajectorySchema& schema);

// Names a schema: equal for equal schemas on every machine and in every
// version, different (but for a 2^-64 chance) for different ones.
uint64_t SchemaHash(const TrajectorySchema& schema);

// The columns every training job has, by name.
namespace column {
inline constexpr std::string_view kObservationPrefix = "observation/";
inline constexpr std::string_view kFinalObservationPrefix =
    "final_observation/";
inline constexpr std::string_view kAction = "action";  // chunk f32 [K, A]: as
                                                       // sampled, unclipped.
inline constexpr std::string_view kLogProbability =
    "log_probability";  // chunk
                        // f32: of the executed steps' actions.
inline constexpr std::string_view kValue = "value";  // chunk f32
inline constexpr std::string_view kStepsExecuted =
    "steps_executed";  // chunk i32
inline constexpr std::string_view kBehaviorVersion =
    "behavior_version";                                        // chunk i64
inline constexpr std::string_view kReward = "reward";          // step f32, raw
inline constexpr std::string_view kTerminated = "terminated";  // step u8
inline constexpr std::string_view kTruncated = "truncated";    // step u8
inline constexpr std::string_view kInstruction =
    "instruction";                                 // trajectory u8 ragged
inline constexpr std::string_view kTask = "task";  // trajectory u8 ragged
inline constexpr std::string_view kSeed = "seed";  // trajectory i64
// The environment's running discounted raw return before the first step.
inline constexpr std::string_view kRunningReturn =
    "running_return";  // trajectory f32
// Of the episode so far, this trajectory included: undiscounted raw return,
// and whether it has succeeded.
inline constexpr std::string_view kEpisodeReturn =
    "episode_return";  // trajectory f32
inline constexpr std::string_view kEpisodeSteps =
    "episode_steps";  // trajectory i64
inline constexpr std::string_view kEpisodeSuccess =
    "episode_success";  // trajectory u8; only where the task reports it
}  // namespace column

}  // namespace flywheel
