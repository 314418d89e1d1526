#include "services/buffer/log/compaction.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/buffer/log/failpoints.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// OK if the entry can be read and its checksums hold.
absl::Status CheckEntry(const MovingEntry& entry) {
  const uint64_t offset = entry.row.offset();
  FLYWHEEL_RETURN_IF_ERROR(
      entry.mapped->Fetch(offset, EntryBytes(entry.row.payload_bytes)));
  const std::optional<StoredEntryHeader> header =
      EntryHeaderAt(entry.mapped->bytes(), offset, entry.token);
  if (!header.has_value() || header->id != entry.row.id ||
      header->payload_bytes != entry.row.payload_bytes ||
      !PayloadIsIntact(entry.mapped->bytes(), offset, *header)) {
    return absl::DataLossError("it fails its checksum");
  }
  return absl::OkStatus();
}

absl::Status CopyEntry(const MovingEntry& entry, SegmentWriter& writer) {
  const EntryInfo info = entry.row.info();
  const std::span<const std::byte> payload = entry.mapped->bytes().subspan(
      entry.row.offset() + sizeof(StoredEntryHeader), info.payload_bytes);
  const NumberedEntry numbered{
      info.id, {.kind = info.kind, .key = info.key, .payload = {&payload, 1}}};
  return writer.Write({&numbered, 1});
}

absl::Status CopyAll(std::span<const MovingEntry> entries,
                     SegmentWriter& writer, CompactedSegment& compacted) {
  for (const MovingEntry& entry : entries) {
    if (absl::Status status = CheckEntry(entry); !status.ok()) {
      compacted.lost.push_back(entry.row);
      compacted.messages.push_back(
          absl::StrCat("entry ", entry.row.id, " of ", SegmentName(entry.from),
                       " is lost: ", std::string(status.message())));
      continue;
    }
    FLYWHEEL_RETURN_IF_ERROR(CopyEntry(entry, writer));
  }
  Failpoint("compact.after_copy");
  return absl::OkStatus();
}

absl::Status Finish(LogFiles& files, SegmentWriter& writer,
                    std::span<const uint64_t> replaced,
                    const std::string& partial, const std::string& name) {
  const bool durable = writer.header().durability != Durability::kMemory;
  FLYWHEEL_RETURN_IF_ERROR(writer.Seal(replaced));
  if (durable) FLYWHEEL_RETURN_IF_ERROR(writer.file()->Sync());
  Failpoint("compact.after_footer");
  FLYWHEEL_RETURN_IF_ERROR(files.Rename(partial, name));
  Failpoint("compact.after_rename");
  // Before anything it replaces may go.
  if (durable) FLYWHEEL_RETURN_IF_ERROR(files.SyncFolder());
  Failpoint("compact.after_folder");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompactedSegment> WriteCompacted(
    LogFiles& files, const SegmentHeader& header,
    std::span<const MovingEntry> entries, std::span<const uint64_t> replaced) {
  const std::string name = SegmentName(header.number);
  const std::string partial = name + kPartialSuffix;
  absl::StatusOr<SegmentWriter> writer =
      SegmentWriter::Create(files, partial, header, 0);
  if (!writer.ok()) return writer.status();
  Failpoint("compact.after_create");

  CompactedSegment compacted{.header = header, .mapped = writer->mapped()};
  absl::Status status = CopyAll(entries, *writer, compacted);
  if (status.ok()) status = Finish(files, *writer, replaced, partial, name);
  if (!status.ok()) {
    // What cannot be removed now, the next start removes.
    files.Remove(partial).IgnoreError();
    files.Remove(name).IgnoreError();
    return status;
  }
  compacted.rows = writer->SealedRows();
  const absl::StatusOr<uint64_t> disk_bytes = writer->file()->DiskBytes();
  compacted.disk_bytes = disk_bytes.value_or(header.file_bytes);
  return compacted;
}

}  // namespace flywheel
