#include "services/buffer/delivery_check.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

template <typename... Parts>
Rejection Corrupt(const Parts&... parts) {
  return {.reason = "corrupt", .message = absl::StrCat("delivery: ", parts...)};
}

}  // namespace

DeliveryCheck::DeliveryCheck(TrajectorySchema schema, const Options& options)
    : record_check_(std::move(schema)), options_(options) {}

std::variant<std::vector<StoredRecord>, Rejection> DeliveryCheck::Check(
    std::span<const MessageFrame> frames,
    const ExpectedRecord& expected) const {
  if (frames.size() > options_.records_max) {
    return Corrupt("one credit may bring at most ", options_.records_max,
                   " records, got ", frames.size());
  }
  std::vector<StoredRecord> records;
  records.reserve(frames.size());
  for (const MessageFrame& frame : frames) {
    auto checked = record_check_.Check(frame.bytes(), expected);
    if (auto* wrong = std::get_if<Rejection>(&checked)) return *wrong;
    records.push_back(
        {.header = std::get<RecordHeader>(checked), .frame = frame});
  }
  auto wrong = expected.credit.kind == CreditKind::kDemonstration
                   ? CheckDemonstration(records)
                   : CheckTraining(records);
  if (wrong.has_value()) return *wrong;
  return records;
}

std::optional<Rejection> DeliveryCheck::CheckTraining(
    std::span<const StoredRecord> records) const {
  int64_t chunks = 0;
  for (const StoredRecord& record : records) {
    chunks += record.header.num_chunks;
  }
  if (chunks <= options_.unroll_length) return std::nullopt;
  return Corrupt("a credit is leave for at most ", options_.unroll_length,
                 " chunks, got ", chunks);
}

std::optional<Rejection> DeliveryCheck::CheckDemonstration(
    std::span<const StoredRecord> records) const {
  if (records.size() != 1) {
    return Corrupt("a demonstration must be one record, got ", records.size());
  }
  const StoredRecord& record = records.front();
  if (record.header.first_step != 0 ||
      !record_check_.EndsEpisode(record.frame.bytes())) {
    return Corrupt("a demonstration must be one whole episode, got ",
                   record.header.num_steps, " steps from step ",
                   record.header.first_step);
  }
  return std::nullopt;
}

}  // namespace flywheel
