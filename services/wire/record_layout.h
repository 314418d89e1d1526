#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "services/wire/record.h"

namespace flywheel {

// Where things lie in a record, for its writer and its reader; in words in
// docs/record_format.md.

static_assert(std::endian::native == std::endian::little,
              "records are stored as they lie in memory");

// The first bytes of a record.
struct StoredHeader {
  uint32_t magic = kRecordMagic;
  uint16_t format_version = kRecordFormatVersion;
  uint16_t header_bytes = sizeof(StoredHeader);
  uint64_t record_bytes = 0;
  uint32_t crc32c = 0;
  uint32_t num_columns = 0;
  RecordHeader fields;
};

// How a column's bytes are stored.
enum class ColumnCodec : uint8_t { kPlain = 0 };

// One entry of the column directory, which follows the header.
struct StoredColumn {
  uint64_t offset = 0;  // From the record's start; a multiple of 64.
  uint64_t stored_bytes = 0;
  uint32_t items = 0;
  ColumnCodec codec = ColumnCodec::kPlain;
  uint8_t reserved[3] = {};  // Zero.
};

// The layout is a format: these may never change within a format version.
static_assert(std::is_trivially_copyable_v<StoredHeader>);
static_assert(std::is_trivially_copyable_v<StoredColumn>);
static_assert(sizeof(StoredHeader) == 152);
static_assert(sizeof(StoredColumn) == 24);
static_assert(offsetof(StoredHeader, record_bytes) == 8);
static_assert(offsetof(StoredHeader, crc32c) == 16);
static_assert(offsetof(StoredHeader, num_columns) == 20);
static_assert(offsetof(StoredHeader, fields) == 24);
static_assert(offsetof(RecordHeader, worker) == 8);
static_assert(offsetof(RecordHeader, incarnation) == 16);
static_assert(offsetof(RecordHeader, sequence) == 24);
static_assert(offsetof(RecordHeader, credit) == 32);
static_assert(offsetof(RecordHeader, deadline) == 40);
static_assert(offsetof(RecordHeader, environment) == 48);
static_assert(offsetof(RecordHeader, task) == 56);
static_assert(offsetof(RecordHeader, group) == 64);
static_assert(offsetof(RecordHeader, episode) == 72);
static_assert(offsetof(RecordHeader, first_step) == 80);
static_assert(offsetof(RecordHeader, num_steps) == 88);
static_assert(offsetof(RecordHeader, num_chunks) == 92);
static_assert(offsetof(RecordHeader, lineage) == 96);
static_assert(offsetof(RecordHeader, behavior_version_min) == 104);
static_assert(offsetof(RecordHeader, behavior_version_max) == 112);
static_assert(offsetof(RecordHeader, created_us) == 120);
static_assert(sizeof(RecordHeader) == 128);
static_assert(offsetof(StoredColumn, stored_bytes) == 8);
static_assert(offsetof(StoredColumn, items) == 16);
static_assert(offsetof(StoredColumn, codec) == 20);

// Columns, steps and chunks of one record.
inline constexpr uint32_t kMaxRecordColumns = 256;
inline constexpr uint32_t kMaxRecordItems = uint32_t{1} << 24;

// The first multiple of `alignment` (a power of two) at or after `n`.
constexpr uint64_t AlignUp(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}

// Where the first column starts.
constexpr uint64_t ColumnsOffset(std::size_t num_columns) {
  return AlignUp(sizeof(StoredHeader) + num_columns * sizeof(StoredColumn),
                 kRecordAlignment);
}

// Where the rows of a ragged column start, from the start of the column.
constexpr uint64_t RaggedRowsOffset(uint64_t items) {
  return AlignUp((items + 1) * sizeof(uint32_t), 8);
}

// CRC32C of a whole record, with the four bytes that hold it taken as zero.
// REQUIRES: `record` holds at least a StoredHeader.
uint32_t RecordCrc32c(std::span<const std::byte> record);

}  // namespace flywheel
