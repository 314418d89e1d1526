#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/buffer/log/log_files.h"
#include "services/buffer/log/segment_layout.h"
#include "services/buffer/log/segment_rows.h"

namespace flywheel {

struct NumberedEntry {
  EntryId id;
  NewEntry entry;
};

// Writes one segment file: header, entries, then the footer that seals it.
//
// Everything goes through write(), never through a mapping, so that a disk that
// refuses is an error and not a SIGBUS. Not thread-safe; readers of the mapping
// may be anywhere.
class SegmentWriter {
 public:
  // Makes the file. ResourceExhausted, and no file, if there is no room for it
  // and `spare_bytes` more.
  static absl::StatusOr<SegmentWriter> Create(LogFiles& files,
                                              const std::string& name,
                                              const SegmentHeader& header,
                                              uint64_t spare_bytes);

  // Goes on behind the entries of a segment found intact.
  SegmentWriter(SegmentHeader header, std::shared_ptr<LogFile> file,
                std::shared_ptr<const MappedFile> mapped,
                std::vector<SegmentRow> rows, uint64_t entries_end);

  SegmentWriter(SegmentWriter&&) = default;
  SegmentWriter& operator=(SegmentWriter&&) = default;

  // Whether one more entry fits, its row included.
  bool HasRoom(uint64_t payload_bytes) const;

  // How many of `entries` fit and should be written at once; 0: not even one.
  std::size_t RunLength(std::span<const NumberedEntry> entries) const;

  // Writes all of `entries`. After an error none of them counts. REQUIRES: they
  // fit, ids ascend.
  absl::Status Write(std::span<const NumberedEntry> entries);

  // Writes the footer behind a gap of zeros. Nothing is written afterwards.
  absl::Status Seal(std::span<const uint64_t> replaced = {});

  // The rows in the sealed file. REQUIRES: Seal() returned OK.
  SegmentRows SealedRows() const;

  const SegmentHeader& header() const { return header_; }
  const std::vector<SegmentRow>& rows() const { return rows_; }
  const std::shared_ptr<LogFile>& file() const { return file_; }
  const std::shared_ptr<const MappedFile>& mapped() const { return mapped_; }

  // False once the file may hold what this object does not know of.
  bool usable() const { return usable_; }

 private:
  absl::Status WriteHeaders();
  absl::Status WritePieces(
      std::span<const std::span<const std::byte>> pieces) const;
  void TakeBack(std::size_t first_row);

  SegmentHeader header_;
  std::shared_ptr<LogFile> file_;
  std::shared_ptr<const MappedFile> mapped_;
  std::vector<SegmentRow> rows_;
  uint64_t entries_end_ = kEntriesBegin;
  uint64_t rows_offset_ = 0;  // 0: not sealed.
  bool usable_ = true;
};

// Writes the footer of a segment so that it ends at `header.file_bytes`, and
// returns the offset of its rows. REQUIRES: nothing was ever written there.
absl::StatusOr<uint64_t> WriteFooter(LogFile& file, const SegmentHeader& header,
                                     std::span<const SegmentRow> rows,
                                     std::span<const uint64_t> replaced,
                                     uint64_t entries_end);

// Gives back the whole pages between `begin` and `end`, which were never
// written to and never will be.
void ReleaseGap(LogFile& file, uint64_t begin, uint64_t end);

}  // namespace flywheel
