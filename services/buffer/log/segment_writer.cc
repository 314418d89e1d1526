#include "services/buffer/log/segment_writer.h"

#include <algorithm>
#include <utility>

#include "services/buffer/log/failpoints.h"
#include "services/buffer/log/piece_list.h"
#include "services/core/status_macros.h"
#include "services/wire/crc32c.h"

namespace flywheel {
namespace {

// One write is at most this much, except for a single larger entry.
constexpr uint64_t kRunBytesMax = uint64_t{1} << 20;

uint64_t PayloadBytes(const NewEntry& entry) {
  uint64_t bytes = 0;
  for (const std::span<const std::byte> piece : entry.payload) {
    bytes += piece.size();
  }
  return bytes;
}

// Adds the entry's bytes to `pieces` and returns its row.
SegmentRow AddEntry(const NumberedEntry& numbered, uint64_t offset,
                    uint64_t token, PieceList& pieces) {
  const NewEntry& entry = numbered.entry;
  const uint64_t payload_bytes = PayloadBytes(entry);
  uint32_t crc = 0;
  for (const std::span<const std::byte> piece : entry.payload) {
    crc = Crc32c(piece, crc);
  }
  const StoredEntryHeader header =
      MakeEntryHeader({.id = numbered.id,
                       .kind = entry.kind,
                       .key = entry.key,
                       .payload_bytes = payload_bytes},
                      crc, token);
  pieces.Add(BytesOf(header));
  for (const std::span<const std::byte> piece : entry.payload) {
    pieces.Add(piece);
  }
  pieces.AddZeros(EntryBytes(payload_bytes) - sizeof(header) - payload_bytes);
  return RowOf(header, offset);
}

absl::Status WriteOne(LogFile& file, uint64_t offset,
                      std::span<const std::byte> bytes) {
  return file.Write(offset, {&bytes, 1});
}

// With failpoints between them, a write becomes several.
absl::Status WriteInSteps(LogFile& file, uint64_t offset,
                          std::span<const std::span<const std::byte>> pieces) {
  std::vector<std::byte> all;
  for (const std::span<const std::byte> piece : pieces) {
    all.insert(all.end(), piece.begin(), piece.end());
  }
  const std::span<const std::byte> bytes(all);
  const std::size_t half = std::max(sizeof(StoredEntryHeader), all.size() / 2);
  const std::size_t header = sizeof(StoredEntryHeader);
  FLYWHEEL_RETURN_IF_ERROR(WriteOne(file, offset, bytes.first(header)));
  Failpoint("append.after_header");
  FLYWHEEL_RETURN_IF_ERROR(
      WriteOne(file, offset + header, bytes.subspan(header, half - header)));
  Failpoint("append.within_payload");
  return WriteOne(file, offset + half, bytes.subspan(half));
}

}  // namespace

absl::StatusOr<SegmentWriter> SegmentWriter::Create(LogFiles& files,
                                                    const std::string& name,
                                                    const SegmentHeader& header,
                                                    uint64_t spare_bytes) {
  absl::StatusOr<std::unique_ptr<LogFile>> file =
      files.Create(name, header.file_bytes, spare_bytes);
  if (!file.ok()) return file.status();
  absl::StatusOr<std::shared_ptr<const MappedFile>> mapped = (*file)->Map();
  absl::Status status = mapped.status();
  if (status.ok()) {
    SegmentWriter writer(header, *std::move(file), *std::move(mapped), {},
                         kEntriesBegin);
    status = writer.WriteHeaders();
    if (status.ok()) return writer;
  }
  files.Remove(name).IgnoreError();  // Recovery would remove it, too.
  return status;
}

SegmentWriter::SegmentWriter(SegmentHeader header,
                             std::shared_ptr<LogFile> file,
                             std::shared_ptr<const MappedFile> mapped,
                             std::vector<SegmentRow> rows, uint64_t entries_end)
    : header_(header),
      file_(std::move(file)),
      mapped_(std::move(mapped)),
      rows_(std::move(rows)),
      entries_end_(entries_end) {}

bool SegmentWriter::HasRoom(uint64_t payload_bytes) const {
  const uint64_t rows = (rows_.size() + 1) * sizeof(SegmentRow);
  return entries_end_ + EntryBytes(payload_bytes) + rows + kTrailerBytes <=
         header_.file_bytes;
}

std::size_t SegmentWriter::RunLength(
    std::span<const NumberedEntry> entries) const {
  uint64_t bytes = 0;
  uint64_t rows = rows_.size() * sizeof(SegmentRow) + kTrailerBytes;
  std::size_t length = 0;
  for (const NumberedEntry& numbered : entries) {
    bytes += EntryBytes(PayloadBytes(numbered.entry));
    rows += sizeof(SegmentRow);
    if (entries_end_ + bytes + rows > header_.file_bytes) break;
    if (length > 0 && bytes > kRunBytesMax) break;
    ++length;
  }
  return length;
}

absl::Status SegmentWriter::Write(std::span<const NumberedEntry> entries) {
  PieceList list;
  const std::size_t rows_before = rows_.size();
  uint64_t end = entries_end_;
  for (const NumberedEntry& numbered : entries) {
    rows_.push_back(AddEntry(numbered, end, header_.token, list));
    end += EntryBytes(rows_.back().payload_bytes);
  }
  if (absl::Status status = WritePieces(list.Pieces()); !status.ok()) {
    TakeBack(rows_before);
    return status;
  }
  entries_end_ = end;
  return absl::OkStatus();
}

absl::Status SegmentWriter::WritePieces(
    std::span<const std::span<const std::byte>> pieces) const {
  if (!AnyFailpointArmed()) return file_->Write(entries_end_, pieces);
  return WriteInSteps(*file_, entries_end_, pieces);
}

// Entries whose write failed may stand there whole, and their owner was told
// that they do not: the next start must not find them.
void SegmentWriter::TakeBack(std::size_t first_row) {
  const StoredEntryHeader none{.magic = 0, .header_bytes = 0};
  for (std::size_t i = first_row; i < rows_.size(); ++i) {
    usable_ &= WriteOne(*file_, rows_[i].offset(), BytesOf(none)).ok();
  }
  rows_.resize(first_row);
}

absl::Status SegmentWriter::WriteHeaders() {
  const StoredSegmentHeader stored = StoredFrom(header_);
  const std::span<const std::byte> both[] = {BytesOf(stored), BytesOf(stored)};
  return file_->Write(0, both);
}

absl::Status SegmentWriter::Seal(std::span<const uint64_t> replaced) {
  const absl::StatusOr<uint64_t> rows_offset =
      WriteFooter(*file_, header_, rows_, replaced, entries_end_);
  if (!rows_offset.ok()) return rows_offset.status();
  rows_offset_ = *rows_offset;
  ReleaseGap(*file_, entries_end_, rows_offset_);
  file_->MakeReadOnly();
  return absl::OkStatus();
}

SegmentRows SegmentWriter::SealedRows() const {
  const std::byte* begin = mapped_->bytes().data() + rows_offset_;
  return SegmentRows(
      mapped_, {reinterpret_cast<const SegmentRow*>(begin), rows_.size()});
}

absl::StatusOr<uint64_t> WriteFooter(LogFile& file, const SegmentHeader& header,
                                     std::span<const SegmentRow> rows,
                                     std::span<const uint64_t> replaced,
                                     uint64_t entries_end) {
  const uint64_t trailer_offset = header.file_bytes - kTrailerBytes;
  const uint64_t rows_offset =
      trailer_offset - rows.size_bytes() - replaced.size_bytes();
  const std::span<const std::byte> tables[] = {std::as_bytes(rows),
                                               std::as_bytes(replaced)};
  FLYWHEEL_RETURN_IF_ERROR(file.Write(rows_offset, tables));
  Failpoint("rotate.after_rows");

  const StoredFooter footer =
      Checksummed({.num_replaced = static_cast<uint32_t>(replaced.size()),
                   .num_rows = rows.size(),
                   .rows_offset = rows_offset,
                   .entries_end = entries_end,
                   .rows_crc = Crc32c(tables[1], Crc32c(tables[0]))});
  const StoredSegmentHeader stored = StoredFrom(header);
  const std::span<const std::byte> trailer[] = {BytesOf(footer),
                                                BytesOf(stored)};
  FLYWHEEL_RETURN_IF_ERROR(file.Write(trailer_offset, trailer));
  return rows_offset;
}

void ReleaseGap(LogFile& file, uint64_t begin, uint64_t end) {
  begin = RoundUp(begin, kSegmentPageBytes);
  end = end / kSegmentPageBytes * kSegmentPageBytes;
  if (begin < end) file.Release(begin, end - begin);
}

}  // namespace flywheel
