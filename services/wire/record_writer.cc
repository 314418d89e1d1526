#include "services/wire/record_writer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/wire/record_layout.h"

namespace flywheel {
namespace {

// A caller broke a REQUIRES: that is a bug of ours, and no record can follow.
void Require(bool holds, const char* rule) {
  if (holds) return;
  std::fprintf(stderr, "RecordWriter: %s\n", rule);
  std::abort();
}

template <typename T>
void AppendValue(const T& value, std::vector<std::byte>& bytes) {
  const auto* data = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), data, data + sizeof(T));
}

}  // namespace

RecordWriter::RecordWriter(TrajectorySchema schema, uint32_t max_steps,
                           uint32_t max_chunks)
    : schema_(std::move(schema)),
      schema_hash_(SchemaHash(schema_)),
      max_steps_(max_steps),
      max_chunks_(max_chunks) {
  const absl::Status status = ValidateSchema(schema_);
  Require(status.ok(), status.ToString().c_str());
  Require(max_steps >= 1 && max_steps <= kMaxRecordItems && max_chunks >= 1 &&
              max_chunks <= kMaxRecordItems,
          "steps and chunks must be 1 to 2^24");
  uint64_t record_bytes = ColumnsOffset(schema_.columns.size());
  for (const ColumnSchema& column : schema_.columns) {
    const std::size_t items =
        ItemCount(column.granularity, max_steps, max_chunks);
    columns_.push_back({.item_bytes = column.item_bytes()});
    record_bytes += AlignUp(
        column.ragged ? RaggedRowsOffset(items) : items * column.item_bytes(),
        kRecordAlignment);
    Require(record_bytes <= kMaxRecordBytes,
            "a record of the most steps and chunks must stay within 1 GiB");
    if (!column.ragged) {
      columns_.back().bytes.resize(items * column.item_bytes());
    }
  }
}

void RecordWriter::Begin() {
  for (Column& column : columns_) {
    std::fill_n(column.bytes.begin(), column.used_bytes, std::byte{0});
    column.used_bytes = 0;
    for (std::string& rows : column.ragged) rows.clear();
  }
}

std::span<std::byte> RecordWriter::item(int index, std::size_t item) {
  Require(static_cast<std::size_t>(index) < columns_.size(),
          "column index must be one of the schema's");
  Column& column = columns_[static_cast<std::size_t>(index)];
  const std::size_t end = (item + 1) * column.item_bytes;
  Require(end <= column.bytes.size(),
          "item must be within the limits and its column not ragged");
  column.used_bytes = std::max(column.used_bytes, end);
  return std::span(column.bytes)
      .subspan(end - column.item_bytes, column.item_bytes);
}

void RecordWriter::SetText(int index, std::string_view text) {
  Column& column = RaggedColumn(index);
  Require(text.size() % column.item_bytes == 0,
          "an item of a ragged column must be whole rows");
  if (column.ragged.empty()) column.ragged.resize(1);
  column.ragged.front().assign(text);
}

void RecordWriter::SetRagged(int index, std::vector<std::string> items) {
  Column& column = RaggedColumn(index);
  for (const std::string& rows : items) {
    Require(rows.size() % column.item_bytes == 0,
            "an item of a ragged column must be whole rows");
  }
  column.ragged = std::move(items);
}

RecordWriter::Column& RecordWriter::RaggedColumn(int index) {
  Require(static_cast<std::size_t>(index) < columns_.size() &&
              schema_.columns[static_cast<std::size_t>(index)].ragged,
          "column must be a ragged one of the schema");
  return columns_[static_cast<std::size_t>(index)];
}

std::size_t RecordWriter::StoredBytes(std::size_t index,
                                      std::size_t items) const {
  const Column& column = columns_[index];
  if (!schema_.columns[index].ragged) return items * column.item_bytes;
  std::size_t bytes = RaggedRowsOffset(items);
  for (std::size_t i = 0; i < std::min(items, column.ragged.size()); ++i) {
    bytes += column.ragged[i].size();
  }
  return bytes;
}

std::vector<std::byte> RecordWriter::Finish(RecordHeader header) {
  Require(header.num_steps >= 1 && header.num_steps <= max_steps_ &&
              header.num_chunks >= 1 && header.num_chunks <= max_chunks_,
          "num_steps and num_chunks must be 1 to the limits");
  header.schema_hash = schema_hash_;
  const std::size_t num_columns = columns_.size();
  const auto items_of = [&](std::size_t index) {
    return ItemCount(schema_.columns[index].granularity, header.num_steps,
                     header.num_chunks);
  };

  uint64_t record_bytes = ColumnsOffset(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) {
    record_bytes += AlignUp(StoredBytes(i, items_of(i)), kRecordAlignment);
  }
  Require(record_bytes <= kMaxRecordBytes, "a record must stay within 1 GiB");

  // Appending into reserved memory touches each byte once.
  std::vector<std::byte> record;
  record.reserve(record_bytes);
  AppendValue(StoredHeader{.record_bytes = record_bytes,
                           .num_columns = static_cast<uint32_t>(num_columns),
                           .fields = header},
              record);
  uint64_t offset = ColumnsOffset(num_columns);
  for (std::size_t i = 0; i < num_columns; ++i) {
    const std::size_t stored_bytes = StoredBytes(i, items_of(i));
    AppendValue(StoredColumn{.offset = offset,
                             .stored_bytes = stored_bytes,
                             .items = static_cast<uint32_t>(items_of(i))},
                record);
    offset = AlignUp(offset + stored_bytes, kRecordAlignment);
  }
  for (std::size_t i = 0; i < num_columns; ++i) {
    record.resize(AlignUp(record.size(), kRecordAlignment));
    const Column& column = columns_[i];
    if (schema_.columns[i].ragged) {
      AppendRagged(column, items_of(i), record);
    } else {
      const auto* begin = column.bytes.data();
      record.insert(record.end(), begin, begin + StoredBytes(i, items_of(i)));
    }
  }
  record.resize(AlignUp(record.size(), kRecordAlignment));

  const uint32_t crc = RecordCrc32c(record);
  std::memcpy(record.data() + offsetof(StoredHeader, crc32c), &crc,
              sizeof(crc));
  return record;
}

void RecordWriter::AppendRagged(const Column& column, std::size_t items,
                                std::vector<std::byte>& record) const {
  const std::size_t start = record.size();
  const std::size_t num_set = std::min(items, column.ragged.size());
  uint64_t rows = 0;
  AppendValue(uint32_t{0}, record);
  for (std::size_t i = 0; i < items; ++i) {
    if (i < num_set) rows += column.ragged[i].size() / column.item_bytes;
    Require(rows <= std::numeric_limits<uint32_t>::max(),
            "a ragged column must have at most 2^32 - 1 rows");
    AppendValue(static_cast<uint32_t>(rows), record);
  }
  record.resize(start + RaggedRowsOffset(items));
  for (std::size_t i = 0; i < num_set; ++i) {
    const auto* data =
        reinterpret_cast<const std::byte*>(column.ragged[i].data());
    record.insert(record.end(), data, data + column.ragged[i].size());
  }
}

}  // namespace flywheel
