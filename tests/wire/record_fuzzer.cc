// libFuzzer target: no bytes may break RecordView. The first byte says what the
// rest is: a record of the sample schema as it stands, the same with length and
// checksum put right, so that what stands behind them is tried too, or changes
// to the sample record, which reach deep fields soonest.

#include <cstdlib>
#include <cstring>

#include "services/wire/record.h"
#include "tests/wire/sample_record.h"

namespace flywheel {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

// Reads every byte that an accepted record offers.
std::size_t ReadAll(const RecordView& view, const TrajectorySchema& schema) {
  std::size_t sum = 0;
  const auto read = [&](std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) sum += static_cast<std::size_t>(byte);
  };
  for (int i = 0; i < static_cast<int>(schema.columns.size()); ++i) {
    const ColumnSchema& column = schema.columns[i];
    read(view.column(i));
    if (!column.ragged) continue;
    const std::size_t items = ItemCount(
        column.granularity, view.header().num_steps, view.header().num_chunks);
    for (std::size_t item = 0; item < items; ++item) read(view.ragged(i, item));
  }
  return sum;
}

void TryRecord(const std::vector<std::byte>& bytes) {
  static const TrajectorySchema& schema = *new TrajectorySchema(SampleSchema());
  static const uint64_t hash = SchemaHash(schema);
  const absl::StatusOr<RecordHeader> header = RecordView::ParseHeader(bytes);
  const absl::StatusOr<RecordView> view =
      RecordView::Parse(bytes, schema, hash);
  if (!view.ok()) {
    Require(!view.status().message().empty());
    return;
  }
  Require(header.ok() && *header == view->header());
  volatile std::size_t sum = ReadAll(*view, schema);
  (void)sum;
}

std::vector<std::byte> WithRightLengthAndChecksum(
    std::vector<std::byte> bytes) {
  if (bytes.size() < sizeof(StoredHeader)) return bytes;
  const uint64_t size = bytes.size();
  std::memcpy(bytes.data() + offsetof(StoredHeader, record_bytes), &size,
              sizeof(size));
  FixChecksum(bytes);
  return bytes;
}

// The sample record with four bytes written over at each offset named.
std::vector<std::byte> ChangedSample(std::span<const std::byte> changes) {
  struct Change {
    uint16_t offset;
    uint16_t unused;
    uint32_t value;
  };
  static const std::vector<std::byte>& sample =
      *new std::vector<std::byte>(SampleRecord());
  std::vector<std::byte> bytes = sample;
  while (changes.size() >= sizeof(Change)) {
    Change change;
    std::memcpy(&change, changes.data(), sizeof(change));
    std::memcpy(bytes.data() + change.offset % (bytes.size() - 3),
                &change.value, sizeof(change.value));
    changes = changes.subspan(sizeof(Change));
  }
  return bytes;
}

void TryInput(uint8_t kind, std::span<const std::byte> input) {
  switch (kind % 3) {
    case 0:
      return TryRecord({input.begin(), input.end()});
    case 1:
      return TryRecord(
          WithRightLengthAndChecksum({input.begin(), input.end()}));
    case 2:
      return TryRecord(WithRightLengthAndChecksum(ChangedSample(input)));
  }
}

}  // namespace
}  // namespace flywheel

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  flywheel::TryInput(data[0], std::as_bytes(std::span(data + 1, size - 1)));
  return 0;
}
