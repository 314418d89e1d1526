// How fast records are written and read, one JSON line per result. The plain
// copy and the bare checksum of the same bytes stand beside them: a record
// cannot be written faster than copied once and summed once, nor read faster
// than summed once.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "services/wire/crc32c.h"
#include "services/wire/record.h"
#include "services/wire/record_writer.h"

namespace flywheel {
namespace {

struct Shape {
  std::string name;
  TrajectorySchema schema;
  uint32_t steps = 0;
  uint32_t chunks = 0;
};

// The examples' trajectories: halfcheetah.yaml and reach_vla.yaml.
std::vector<Shape> Shapes() {
  using enum ElementKind;
  using enum Granularity;
  const std::vector<ColumnSchema> common = {
      {"log_probability", kFloat32, {}, kChunk},
      {"value", kFloat32, {}, kChunk},
      {"steps_executed", kInt32, {}, kChunk},
      {"behavior_version", kInt64, {}, kChunk},
      {"reward", kFloat32, {}, kStep},
      {"terminated", kUint8, {}, kStep},
      {"truncated", kUint8, {}, kStep},
      {"instruction", kUint8, {}, kTrajectory, true},
  };
  Shape states{.name = "states", .schema = {common}, .steps = 32, .chunks = 32};
  states.schema.columns.push_back(
      {"observation/state", kFloat32, {17}, kChunk});
  states.schema.columns.push_back({"action", kFloat32, {1, 6}, kChunk});
  states.schema.columns.push_back(
      {"final_observation/state", kFloat32, {17}, kFinal});
  Shape images{.name = "images", .schema = {common}, .steps = 32, .chunks = 8};
  images.schema.columns.push_back(
      {"observation/image", kUint8, {64, 64, 3}, kChunk});
  images.schema.columns.push_back({"action", kFloat32, {4, 6}, kChunk});
  images.schema.columns.push_back(
      {"final_observation/image", kUint8, {64, 64, 3}, kFinal});
  Shape large = images;
  large.name = "large";
  large.steps = 1024;
  large.chunks = 256;
  return {states, images, large};
}

// Seconds that one call takes: the best of several rounds of 50 ms, since
// whatever else the machine does only ever adds.
template <typename Work>
double SecondsPerCall(Work work) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  for (int round = 0; round < 7; ++round) {
    int calls = 0;
    const Clock::time_point begin = Clock::now();
    std::chrono::duration<double> spent{};
    do {
      work();
      ++calls;
      spent = Clock::now() - begin;
    } while (spent.count() < 0.05);
    best = std::min(best, spent.count() / calls);
  }
  return best;
}

void Print(const std::string& benchmark, const Shape& shape, std::size_t bytes,
           double seconds) {
  std::printf(
      "{\"benchmark\": \"record_%s\", \"record\": \"%s\", \"bytes\": %zu, "
      "\"microseconds\": %.3f, \"gigabytes_per_second\": %.2f}\n",
      benchmark.c_str(), shape.name.c_str(), bytes, seconds * 1e6,
      static_cast<double>(bytes) / seconds * 1e-9);
}

// Writes every item, as a rollout does, and finishes the record.
std::vector<std::byte> Write(RecordWriter& writer, const Shape& shape) {
  writer.Begin();
  const std::vector<ColumnSchema>& columns = writer.schema().columns;
  for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
    if (columns[i].ragged) {
      writer.SetText(i, "reach the red cube");
      continue;
    }
    const std::size_t items =
        ItemCount(columns[i].granularity, shape.steps, shape.chunks);
    for (std::size_t item = 0; item < items; ++item) {
      const std::span<std::byte> bytes = writer.item(i, item);
      std::memset(bytes.data(), static_cast<int>(item + 1), bytes.size());
    }
  }
  return writer.Finish({.num_steps = shape.steps, .num_chunks = shape.chunks});
}

void Run(const Shape& shape) {
  RecordWriter writer(shape.schema, shape.steps, shape.chunks);
  const std::vector<std::byte> record = Write(writer, shape);
  std::size_t kept = 0;  // Printed, so that no work can be left out.

  Print("write", shape, record.size(),
        SecondsPerCall([&] { kept += Write(writer, shape).size(); }));
  Print("finish", shape, record.size(), SecondsPerCall([&] {
          kept += writer
                      .Finish({.num_steps = shape.steps,
                               .num_chunks = shape.chunks})
                      .size();
        }));
  Print("parse", shape, record.size(), SecondsPerCall([&] {
          const absl::StatusOr<RecordView> view =
              RecordView::Parse(record, shape.schema, writer.schema_hash());
          kept += view.ok() ? view->column(0).size() : 0;
        }));
  std::vector<std::byte> copy(record.size());
  Print("bytes_copied", shape, record.size(), SecondsPerCall([&] {
          std::memcpy(copy.data(), record.data(), record.size());
          kept += static_cast<std::size_t>(copy[kept % copy.size()]);
        }));
  Print("bytes_summed", shape, record.size(),
        SecondsPerCall([&] { kept += Crc32c(record); }));
  std::fprintf(stderr, "%s: %zu\n", shape.name.c_str(), kept);
}

}  // namespace
}  // namespace flywheel

int main() {
  for (const flywheel::Shape& shape : flywheel::Shapes()) flywheel::Run(shape);
  return 0;
}
