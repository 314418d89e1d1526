#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "services/core/trajectory_schema.h"
#include "services/wire/record.h"

namespace flywheel {

// Writes one trajectory's columns in place while it is collected.
//
// Begin() clears room for the most steps and chunks it may get; the rollout
// writes items straight into the columns; Finish() closes the gaps that a
// shorter trajectory leaves, and returns the record's bytes. What was never
// written is zero, so equal trajectories give equal bytes. Memory is reused
// from one trajectory to the next; only Finish() allocates, the record itself.
//
// Breaking a REQUIRES aborts with a sentence. Not thread-safe. Spans stay valid
// until Finish() or Begin().
class RecordWriter {
 public:
  // `schema` is copied. REQUIRES: ValidateSchema(schema).ok(), 1 to 2^24 steps
  // and chunks, and a record of all of them within kMaxRecordBytes.
  RecordWriter(TrajectorySchema schema, uint32_t max_steps,
               uint32_t max_chunks);

  void Begin();

  // Item `item` of column `index`: of a step, chunk, final or trajectory
  // column. REQUIRES: not ragged, item in range.
  std::span<std::byte> item(int index, std::size_t item);

  template <typename T>
  T& scalar(int index, std::size_t item_index) {
    return *reinterpret_cast<T*>(item(index, item_index).data());
  }

  template <typename T>
  std::span<T> elements(int index, std::size_t item_index) {
    const std::span<std::byte> bytes = item(index, item_index);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // The one item of a ragged trajectory or final column. Ragged columns of
  // other granularities are set item by item with SetRagged(index, items).
  // REQUIRES: whole rows; at most 2^32 - 1 of them in a column.
  void SetText(int index, std::string_view text);
  void SetRagged(int index, std::vector<std::string> items);

  // Fills in the record for header.num_steps and header.num_chunks (1 to the
  // limits) and returns its bytes, schema hash and checksum included. The
  // writer keeps no reference to them. Items of a ragged column that were not
  // set are empty.
  std::vector<std::byte> Finish(RecordHeader header);

  const TrajectorySchema& schema() const { return schema_; }
  uint64_t schema_hash() const { return schema_hash_; }

 private:
  struct Column {
    std::size_t item_bytes = 0;       // Or of one row, if ragged.
    std::vector<std::byte> bytes;     // Room for the most items.
    std::size_t used_bytes = 0;       // Up to here it may not be zero.
    std::vector<std::string> ragged;  // Each item's rows, if ragged.
  };

  Column& RaggedColumn(int index);
  std::size_t StoredBytes(std::size_t index, std::size_t items) const;
  void AppendRagged(const Column& column, std::size_t items,
                    std::vector<std::byte>& record) const;

  const TrajectorySchema schema_;
  const uint64_t schema_hash_;
  const uint32_t max_steps_;
  const uint32_t max_chunks_;
  std::vector<Column> columns_;
};

}  // namespace flywheel
