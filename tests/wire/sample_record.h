#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "services/core/trajectory_schema.h"
#include "services/wire/record.h"
#include "services/wire/record_layout.h"
#include "services/wire/record_writer.h"

namespace flywheel {

// A schema with every granularity, element kind and sort of ragged column, and
// a small record of it, for the tests and fuzzers of this folder.

namespace sample {
enum Column {
  kImage,
  kState,
  kAction,
  kStepsExecuted,
  kBehaviorVersion,
  kNote,
  kReward,
  kFinalState,
  kSeed,
  kInstruction,
  kPoints,
  kFinalPoints,
};
inline constexpr uint32_t kSteps = 3;
inline constexpr uint32_t kChunks = 2;
}  // namespace sample

inline TrajectorySchema SampleSchema() {
  using enum ElementKind;
  using enum Granularity;
  return {{{"observation/image", kUint8, {3, 5}, kChunk},
           {"observation/state", kFloat64, {3}, kChunk},
           {"action", kFloat32, {2, 2}, kChunk},
           {"steps_executed", kInt32, {}, kChunk},
           {"behavior_version", kInt64, {}, kChunk},
           {"note", kUint8, {}, kStep, true},
           {"reward", kFloat32, {}, kStep},
           {"final_observation/state", kFloat64, {3}, kFinal},
           {"seed", kInt64, {}, kTrajectory},
           {"instruction", kUint8, {}, kTrajectory, true},
           {"points", kFloat64, {2}, kChunk, true},
           {"final_points", kFloat32, {3}, kFinal, true}}};
}

inline RecordHeader SampleHeader() {
  return {.worker = 1,
          .incarnation = 2,
          .sequence = 3,
          .credit = 4,
          .deadline = 5,
          .environment = 6,
          .task = 7,
          .group = 8,
          .episode = 9,
          .first_step = 10,
          .num_steps = sample::kSteps,
          .num_chunks = sample::kChunks,
          .lineage = 11,
          .behavior_version_min = 12,
          .behavior_version_max = 13,
          .created_us = 14};
}

// `values` as the rows of a ragged item.
template <typename T>
std::string Rows(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

// Writes items of the sample schema for `steps` and `chunks`.
inline void FillSample(RecordWriter& writer, uint32_t steps, uint32_t chunks) {
  for (uint32_t i = 0; i < chunks; ++i) {
    for (std::byte& pixel : writer.item(sample::kImage, i)) {
      pixel = static_cast<std::byte>(100 + i);
    }
    for (double& x : writer.elements<double>(sample::kState, i)) x = 0.5 + i;
    for (float& x : writer.elements<float>(sample::kAction, i)) x = -1.5F - i;
    writer.scalar<int32_t>(sample::kStepsExecuted, i) = 2 - i;
    writer.scalar<int64_t>(sample::kBehaviorVersion, i) = 12 + i;
  }
  for (uint32_t i = 0; i < steps; ++i) {
    writer.scalar<float>(sample::kReward, i) = 0.25F * i;
  }
  for (double& x : writer.elements<double>(sample::kFinalState, 0)) x = 7;
  writer.scalar<int64_t>(sample::kSeed, 0) = -42;
  writer.SetText(sample::kInstruction, "reach the red cube");
  writer.SetRagged(sample::kNote, {"a", "", "bc"});
  writer.SetRagged(sample::kPoints,
                   {Rows<double>({1, 2}), Rows<double>({3, 4, 5, 6})});
  writer.SetRagged(sample::kFinalPoints, {Rows<float>({1, 2, 3})});
}

inline std::vector<std::byte> SampleRecord() {
  RecordWriter writer(SampleSchema(), sample::kSteps, sample::kChunks);
  writer.Begin();
  FillSample(writer, sample::kSteps, sample::kChunks);
  return writer.Finish(SampleHeader());
}

// Makes the checksum right again after bytes were changed on purpose.
inline void FixChecksum(std::vector<std::byte>& record) {
  if (record.size() < sizeof(StoredHeader)) return;
  const uint32_t crc = RecordCrc32c(record);
  std::memcpy(record.data() + offsetof(StoredHeader, crc32c), &crc,
              sizeof(crc));
}

}  // namespace flywheel
