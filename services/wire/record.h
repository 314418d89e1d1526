#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "services/core/trajectory_schema.h"

namespace flywheel {

// A record is a trajectory's bytes: a fixed header, a column directory, then
// the columns, each 64-byte aligned from the record's start. The same bytes
// travel, are stored, and lie under the learner's tensors.
//
// docs/record_format.md gives every offset. All numbers are little-endian.

inline constexpr uint32_t kRecordMagic = 0x31525746;  // "FWR1"
inline constexpr uint16_t kRecordFormatVersion = 1;
inline constexpr std::size_t kRecordAlignment = 64;
inline constexpr std::size_t kMaxRecordBytes = std::size_t{1} << 30;

// What a record says of its trajectory, apart from the columns.
struct RecordHeader {
  uint64_t schema_hash = 0;
  uint64_t worker = 0;
  uint64_t incarnation = 0;
  uint64_t sequence = 0;  // (worker, incarnation, sequence) is its name.
  uint64_t credit = 0;
  int64_t deadline = 0;      // Of the credit: a train step.
  uint64_t environment = 0;  // Job-wide index.
  uint64_t task = 0;
  uint64_t group = 0;
  uint64_t episode = 0;     // Of its environment, from 0.
  uint64_t first_step = 0;  // Of the episode.
  uint32_t num_steps = 0;
  uint32_t num_chunks = 0;
  uint64_t lineage = 0;
  int64_t behavior_version_min = 0;
  int64_t behavior_version_max = 0;
  int64_t created_us = 0;  // Microseconds since 1970.
  bool operator==(const RecordHeader&) const = default;
};

// A checked view of a record's bytes. It owns nothing: the bytes must outlive
// it. Columns are read in place, without a copy.
class RecordView {
 public:
  // Checks everything a reader relies on: magic, version, lengths, checksum,
  // the schema's hash, and that each column lies inside the record, is aligned,
  // overlaps nothing and has the bytes its schema and counts ask for. Returns
  // DataLoss or InvalidArgument naming what is wrong; survives any bytes.
  static absl::StatusOr<RecordView> Parse(std::span<const std::byte> bytes,
                                          const TrajectorySchema& schema,
                                          uint64_t schema_hash);

  // The header alone, after checking magic, version, lengths and checksum: for
  // a reader that does not know the schema.
  static absl::StatusOr<RecordHeader> ParseHeader(
      std::span<const std::byte> bytes);

  const RecordHeader& header() const { return header_; }

  // The stored bytes of column `index` of the schema.
  std::span<const std::byte> column(int index) const;

  // Column `index` as its elements. REQUIRES: T has the size of the column's
  // element, and the bytes given to Parse() were 8-byte aligned.
  template <typename T>
  std::span<const T> elements(int index) const {
    const std::span<const std::byte> bytes = column(index);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  // The rows of item `item` of a ragged column; e.g. a text.
  std::span<const std::byte> ragged(int index, std::size_t item) const;
  std::string_view text(int index) const;  // Item 0 of a ragged uint8 column.

 private:
  struct Column {
    std::span<const std::byte> bytes;
    std::size_t row_bytes = 0;
    std::size_t items = 0;
  };

  RecordHeader header_;
  std::vector<Column> columns_;
};

// Items of a column of this granularity.
std::size_t ItemCount(Granularity granularity, uint32_t num_steps,
                      uint32_t num_chunks);

}  // namespace flywheel
