#include "services/buffer/log/segment_file.h"

#include <algorithm>
#include <cstring>

#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

// T at `offset`, if that lies in the file and can be read.
template <typename T>
std::optional<T> ReadAt(const MappedFile& mapped, uint64_t offset) {
  const uint64_t bytes = mapped.bytes().size();
  if (offset > bytes || bytes - offset < sizeof(T)) return std::nullopt;
  if (!mapped.Fetch(offset, sizeof(T)).ok()) return std::nullopt;
  T value;
  std::memcpy(&value, mapped.bytes().data() + offset, sizeof(T));
  return value;
}

std::optional<SegmentHeader> HeaderAt(const SegmentFile& segment,
                                      uint64_t offset) {
  const auto stored = ReadAt<StoredSegmentHeader>(*segment.mapped, offset);
  if (!stored.has_value()) return std::nullopt;
  const std::optional<SegmentHeader> header = HeaderFrom(*stored);
  if (!header.has_value() || header->number != segment.number) {
    return std::nullopt;
  }
  return header;
}

bool RowsAreSound(std::span<const SegmentRow> rows, uint64_t entries_end) {
  uint64_t previous_id = 0;
  for (const SegmentRow& row : rows) {
    if (row.id <= previous_id || row.offset() < kEntriesBegin ||
        row.offset() > entries_end ||
        row.payload_bytes > entries_end - row.offset() ||
        EntryBytes(row.payload_bytes) > entries_end - row.offset()) {
      return false;
    }
    previous_id = row.id;
  }
  return true;
}

// The footer, if it and what it points to are intact.
bool ReadFooter(SegmentFile& segment) {
  const uint64_t bytes = segment.mapped->bytes().size();
  if (bytes < kEntriesBegin + kTrailerBytes) return false;
  const uint64_t tables_end = bytes - kTrailerBytes;
  const auto header = HeaderAt(segment, bytes - sizeof(StoredSegmentHeader));
  const auto footer = ReadAt<StoredFooter>(*segment.mapped, tables_end);
  if (!header.has_value() || header->file_bytes != bytes ||
      !footer.has_value() || !IsIntact(*footer)) {
    return false;
  }
  const uint64_t replaced_bytes = footer->num_replaced * sizeof(uint64_t);
  if (footer->rows_offset > tables_end ||
      footer->num_rows > bytes / sizeof(SegmentRow) ||
      footer->num_rows * sizeof(SegmentRow) + replaced_bytes !=
          tables_end - footer->rows_offset ||
      footer->entries_end > footer->rows_offset ||
      footer->rows_offset % alignof(SegmentRow) != 0 ||
      !segment.mapped
           ->Fetch(footer->rows_offset, tables_end - footer->rows_offset)
           .ok()) {
    return false;
  }
  const std::span<const std::byte> tables = segment.mapped->bytes().subspan(
      footer->rows_offset, tables_end - footer->rows_offset);
  const std::span<const SegmentRow> rows(
      reinterpret_cast<const SegmentRow*>(tables.data()), footer->num_rows);
  if (Crc32c(tables) != footer->rows_crc ||
      !RowsAreSound(rows, footer->entries_end)) {
    return false;
  }
  segment.header = *header;
  segment.rows = SegmentRows(segment.mapped, rows);
  segment.replaced.resize(footer->num_replaced);
  if (replaced_bytes > 0) {
    std::memcpy(segment.replaced.data(), tables.data() + rows.size_bytes(),
                replaced_bytes);
  }
  return true;
}

bool ReadHeader(SegmentFile& segment) {
  const auto header = HeaderAt(segment, 0);
  const auto second = HeaderAt(segment, sizeof(StoredSegmentHeader));
  if (!header.has_value() && !second.has_value()) return false;
  segment.header = header.has_value() ? *header : *second;
  return true;
}

bool IsBlank(const MappedFile& mapped) {
  absl::Status error;
  if (ReadableBytes(mapped, error) < mapped.bytes().size()) return false;
  return std::all_of(mapped.bytes().begin(), mapped.bytes().end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

SegmentFile::State Judge(SegmentFile& segment) {
  if (ReadFooter(segment)) return SegmentFile::State::kSealed;
  if (ReadHeader(segment)) return SegmentFile::State::kUnsealed;
  return IsBlank(*segment.mapped) ? SegmentFile::State::kBlank
                                  : SegmentFile::State::kUnreadable;
}

}  // namespace

absl::StatusOr<SegmentFile> ReadSegmentFile(LogFiles& files, uint32_t number) {
  SegmentFile segment{.name = SegmentName(number), .number = number};
  absl::StatusOr<std::unique_ptr<LogFile>> file = files.Open(segment.name);
  if (!file.ok()) return file.status();
  segment.file = *std::move(file);
  absl::StatusOr<std::shared_ptr<const MappedFile>> mapped =
      segment.file->Map();
  if (!mapped.ok()) return mapped.status();
  segment.mapped = *std::move(mapped);
  const absl::StatusOr<uint64_t> disk_bytes = segment.file->DiskBytes();
  if (!disk_bytes.ok()) return disk_bytes.status();
  segment.disk_bytes = *disk_bytes;
  segment.state = Judge(segment);
  if (segment.state == SegmentFile::State::kSealed) segment.file.reset();
  return segment;
}

uint64_t ReadableBytes(const MappedFile& mapped, absl::Status& error) {
  constexpr uint64_t kStep = 256 * kSegmentPageBytes;
  const uint64_t bytes = mapped.bytes().size();
  for (uint64_t offset = 0; offset < bytes; offset += kStep) {
    error = mapped.Fetch(offset, std::min(kStep, bytes - offset));
    if (!error.ok()) return offset;
  }
  return bytes;
}

}  // namespace flywheel
