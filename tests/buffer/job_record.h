#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "services/core/credit.h"
#include "services/core/trajectory_schema.h"
#include "services/wire/message_frame.h"
#include "services/wire/record_writer.h"

namespace flywheel {

// Records with the columns of a job, for tests of the buffer.

inline TrajectorySchema JobSchema() {
  using enum ElementKind;
  using enum Granularity;
  return {{{"observation/state", kFloat32, {2}, kChunk},
           {"action", kFloat32, {1, 1}, kChunk},
           {"log_probability", kFloat32, {}, kChunk},
           {"value", kFloat32, {}, kChunk},
           {"steps_executed", kInt32, {}, kChunk},
           {"behavior_version", kInt64, {}, kChunk},
           {"reward", kFloat32, {}, kStep},
           {"terminated", kUint8, {}, kStep},
           {"truncated", kUint8, {}, kStep},
           {"instruction", kUint8, {}, kTrajectory, true}}};
}

// What a record says; one step per chunk.
struct JobRecord {
  uint64_t worker = 0;
  uint64_t incarnation = 1;
  Credit credit;
  uint64_t episode = 0;
  uint64_t first_step = 0;
  uint32_t chunks = 4;
  int64_t version = 0;
  bool terminated = false;  // At its last step.
};

// Column `name` of the job's schema.
inline int JobColumn(std::string_view name) {
  static const TrajectorySchema schema = JobSchema();
  return schema.Find(name);
}

// Its frame; `edit` may break what the writer holds before it is finished.
inline MessageFrame JobFrame(
    const JobRecord& record,
    const std::function<void(RecordWriter&)>& edit = nullptr,
    const TrajectorySchema& schema = JobSchema()) {
  RecordWriter writer(schema, record.chunks, record.chunks);
  writer.Begin();
  for (uint32_t i = 0; i < record.chunks; ++i) {
    writer.scalar<int32_t>(JobColumn(column::kStepsExecuted), i) = 1;
    writer.scalar<int64_t>(JobColumn(column::kBehaviorVersion), i) =
        record.version;
    writer.scalar<float>(JobColumn(column::kReward), i) = 1;
  }
  writer.scalar<uint8_t>(JobColumn(column::kTerminated), record.chunks - 1) =
      record.terminated;
  writer.SetText(JobColumn(column::kInstruction), "reach the red cube");
  if (edit) edit(writer);
  return MessageFrame(writer.Finish({.worker = record.worker,
                                     .incarnation = record.incarnation,
                                     .credit = record.credit.id,
                                     .deadline = record.credit.deadline,
                                     .environment = record.credit.environment,
                                     .episode = record.episode,
                                     .first_step = record.first_step,
                                     .num_steps = record.chunks,
                                     .num_chunks = record.chunks,
                                     .behavior_version_min = record.version,
                                     .behavior_version_max = record.version}));
}

}  // namespace flywheel
