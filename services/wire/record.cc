#include "services/wire/record.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/core/status_macros.h"
#include "services/wire/record_layout.h"

namespace flywheel {
namespace {

// Reads a T at `offset`, whatever its alignment. REQUIRES: it lies inside.
template <typename T>
T Load(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

absl::Status CheckLengths(const StoredHeader& stored, std::size_t size) {
  if (stored.header_bytes != sizeof(StoredHeader)) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: header size must be ", sizeof(StoredHeader),
                     ", got ", stored.header_bytes));
  }
  if (stored.record_bytes != size) {
    return absl::DataLossError(
        absl::StrCat("record: length must be that of its bytes, ", size,
                     ", got ", stored.record_bytes));
  }
  if (stored.num_columns < 1 || stored.num_columns > kMaxRecordColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: number of columns must be 1 to ",
                     kMaxRecordColumns, ", got ", stored.num_columns));
  }
  if (size < ColumnsOffset(stored.num_columns)) {
    return absl::DataLossError(absl::StrCat(
        "record: the directory of ", stored.num_columns, " columns needs ",
        ColumnsOffset(stored.num_columns), " bytes, got ", size));
  }
  return absl::OkStatus();
}

absl::Status CheckFields(const RecordHeader& fields) {
  for (const auto& [name, count] :
       {std::pair{"num_steps", fields.num_steps},
        std::pair{"num_chunks", fields.num_chunks}}) {
    if (count < 1 || count > kMaxRecordItems) {
      return absl::InvalidArgumentError(
          absl::StrCat("record: ", name, " must be 1 to ", kMaxRecordItems,
                       ", got ", count));
    }
  }
  if (fields.behavior_version_min > fields.behavior_version_max) {
    return absl::InvalidArgumentError(absl::StrCat(
        "record: behavior_version_min must not exceed behavior_version_max (",
        fields.behavior_version_max, "), got ", fields.behavior_version_min));
  }
  return absl::OkStatus();
}

// The header, once everything that needs no schema was checked.
absl::StatusOr<StoredHeader> CheckedHeader(std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(StoredHeader)) {
    return absl::DataLossError(absl::StrCat("record: needs at least ",
                                            sizeof(StoredHeader),
                                            " bytes, got ", bytes.size()));
  }
  if (bytes.size() > kMaxRecordBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: may have at most ", kMaxRecordBytes,
                     " bytes, got ", bytes.size()));
  }
  const auto stored = Load<StoredHeader>(bytes, 0);
  if (stored.magic != kRecordMagic) {
    return absl::InvalidArgumentError(
        absl::StrFormat("record: magic must be %#010x, got %#010x",
                        kRecordMagic, stored.magic));
  }
  if (stored.format_version != kRecordFormatVersion) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: format version must be ", kRecordFormatVersion,
                     ", got ", stored.format_version));
  }
  FLYWHEEL_RETURN_IF_ERROR(CheckLengths(stored, bytes.size()));
  if (const uint32_t crc = RecordCrc32c(bytes); crc != stored.crc32c) {
    return absl::DataLossError(
        absl::StrFormat("record: CRC32C of its bytes is %#010x, but it says "
                        "%#010x",
                        crc, stored.crc32c));
  }
  FLYWHEEL_RETURN_IF_ERROR(CheckFields(stored.fields));
  return stored;
}

absl::Status ColumnError(const ColumnSchema& column, std::string_view field,
                         uint64_t must_be, uint64_t value) {
  return absl::InvalidArgumentError(
      absl::StrCat("record: column \"", column.name,
                   "\": ", absl::string_view(field.data(), field.size()),
                   " must be ", must_be, ", got ", value));
}

// Offsets begin at 0 and never fall; the rows they count fill the column.
absl::Status CheckRagged(const ColumnSchema& column, uint64_t items,
                         std::span<const std::byte> bytes) {
  const uint64_t rows_offset = RaggedRowsOffset(items);
  if (bytes.size() < rows_offset) {
    return absl::InvalidArgumentError(absl::StrCat(
        "record: column \"", column.name, "\": offsets of ", items,
        " items need ", rows_offset, " bytes, got ", bytes.size()));
  }
  uint32_t last = Load<uint32_t>(bytes, 0);
  if (last != 0) return ColumnError(column, "first offset", 0, last);
  for (uint64_t i = 1; i <= items; ++i) {
    const auto offset = Load<uint32_t>(bytes, i * sizeof(uint32_t));
    if (offset < last) {
      return absl::InvalidArgumentError(absl::StrCat(
          "record: column \"", column.name, "\": offset ", i,
          " must be at least the one before it, ", last, ", got ", offset));
    }
    last = offset;
  }
  const uint64_t must_be = rows_offset + uint64_t{last} * column.item_bytes();
  if (bytes.size() == must_be) return absl::OkStatus();
  return ColumnError(column, "stored bytes", must_be, bytes.size());
}

// Checks a column's directory entry and, if ragged, its offsets. Each column
// starts at `offset`, the first aligned byte after the one before it, so none
// can overlap another.
absl::Status CheckEntry(const ColumnSchema& column, const StoredColumn& entry,
                        std::size_t items, uint64_t offset,
                        std::span<const std::byte> record) {
  if (entry.offset != offset) {
    return ColumnError(column, "offset", offset, entry.offset);
  }
  if (offset > record.size() || entry.stored_bytes > record.size() - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: column \"", column.name,
                     "\": ", entry.stored_bytes, " bytes at offset ", offset,
                     " must lie within the record of ", record.size()));
  }
  if (entry.items != items) {
    return ColumnError(column, "items", items, entry.items);
  }
  if (entry.codec != ColumnCodec::kPlain) {
    return ColumnError(column, "codec", 0, static_cast<uint8_t>(entry.codec));
  }
  for (const uint8_t reserved : entry.reserved) {
    if (reserved != 0) return ColumnError(column, "reserved byte", 0, reserved);
  }
  if (column.ragged) {
    return CheckRagged(column, items,
                       record.subspan(offset, entry.stored_bytes));
  }
  const uint64_t stored_bytes = uint64_t{items} * column.item_bytes();
  if (entry.stored_bytes == stored_bytes) return absl::OkStatus();
  return ColumnError(column, "stored bytes", stored_bytes, entry.stored_bytes);
}

}  // namespace

absl::StatusOr<RecordHeader> RecordView::ParseHeader(
    std::span<const std::byte> bytes) {
  const absl::StatusOr<StoredHeader> stored = CheckedHeader(bytes);
  if (!stored.ok()) return stored.status();
  return stored->fields;
}

absl::StatusOr<RecordView> RecordView::Parse(std::span<const std::byte> bytes,
                                             const TrajectorySchema& schema,
                                             uint64_t schema_hash) {
  const absl::StatusOr<StoredHeader> stored = CheckedHeader(bytes);
  if (!stored.ok()) return stored.status();
  if (stored->fields.schema_hash != schema_hash) {
    return absl::InvalidArgumentError(
        absl::StrFormat("record: schema hash must be %#018x, got %#018x",
                        schema_hash, stored->fields.schema_hash));
  }
  if (stored->num_columns != schema.columns.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "record: number of columns must be ", schema.columns.size(),
        " as in its schema, got ", stored->num_columns));
  }

  RecordView view;
  view.header_ = stored->fields;
  view.columns_.reserve(schema.columns.size());
  uint64_t offset = ColumnsOffset(schema.columns.size());
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSchema& column = schema.columns[i];
    const auto entry = Load<StoredColumn>(
        bytes, sizeof(StoredHeader) + i * sizeof(StoredColumn));
    const std::size_t items = ItemCount(
        column.granularity, view.header_.num_steps, view.header_.num_chunks);
    FLYWHEEL_RETURN_IF_ERROR(CheckEntry(column, entry, items, offset, bytes));
    view.columns_.push_back({.bytes = bytes.subspan(offset, entry.stored_bytes),
                             .row_bytes = column.item_bytes(),
                             .items = items});
    offset = AlignUp(offset + entry.stored_bytes, kRecordAlignment);
  }
  if (offset != bytes.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("record: length must be ", offset,
                     ", where its last column ends, got ", bytes.size()));
  }
  return view;
}

std::span<const std::byte> RecordView::column(int index) const {
  return columns_[static_cast<std::size_t>(index)].bytes;
}

std::span<const std::byte> RecordView::ragged(int index,
                                              std::size_t item) const {
  const Column& column = columns_[static_cast<std::size_t>(index)];
  const uint64_t first = Load<uint32_t>(column.bytes, item * sizeof(uint32_t));
  const uint64_t end =
      Load<uint32_t>(column.bytes, (item + 1) * sizeof(uint32_t));
  return column.bytes.subspan(
      RaggedRowsOffset(column.items) + first * column.row_bytes,
      (end - first) * column.row_bytes);
}

std::string_view RecordView::text(int index) const {
  const std::span<const std::byte> bytes = ragged(index, 0);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::size_t ItemCount(Granularity granularity, uint32_t num_steps,
                      uint32_t num_chunks) {
  switch (granularity) {
    case Granularity::kStep:
      return num_steps;
    case Granularity::kChunk:
      return num_chunks;
    case Granularity::kFinal:
    case Granularity::kTrajectory:
      return 1;
  }
  return 0;
}

}  // namespace flywheel
