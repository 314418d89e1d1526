#include "services/buffer/replay/replay_item.h"

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

absl::Status CheckConsecutive(const ItemRecord& before,
                              const ItemRecord& record) {
  if (record.episode != before.episode) {
    return absl::InvalidArgumentError(
        absl::StrCat("records must be of one episode, but record ",
                     before.id.value, " is of episode ", before.episode,
                     " and record ", record.id.value, " of ", record.episode));
  }
  const uint64_t expected = before.first_step + before.num_steps;
  if (record.first_step != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "records must be consecutive: record ", record.id.value,
        " must begin at step ", expected, ", where record ", before.id.value,
        " ends; it begins at ", record.first_step));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSteps(const ReplayItem& item) {
  if (item.records.empty() || item.records.size() > kItemRecordsMax) {
    return absl::InvalidArgumentError(absl::StrCat("records must be 1 to ",
                                                   kItemRecordsMax, ", got ",
                                                   item.records.size()));
  }
  uint64_t steps = 0;
  for (std::size_t i = 0; i < item.records.size(); ++i) {
    steps += item.records[i].num_steps;
    if (i == 0) continue;
    if (absl::Status status =
            CheckConsecutive(item.records[i - 1], item.records[i]);
        !status.ok()) {
      return status;
    }
  }
  if (item.first_offset >= item.records.front().num_steps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "first_offset must be below the ", item.records.front().num_steps,
        " steps of record ", item.records.front().id.value, ", got ",
        item.first_offset));
  }
  const uint64_t longest = steps - item.first_offset;
  const uint64_t before_last = steps - item.records.back().num_steps;
  const uint64_t shortest =
      before_last < item.first_offset ? 1 : before_last - item.first_offset + 1;
  if (item.num_steps < shortest || item.num_steps > longest) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_steps must be ", shortest, " to ", longest, ", so that the ",
        item.records.size(), " records from offset ", item.first_offset,
        " on are just enough; got ", item.num_steps));
  }
  return absl::OkStatus();
}

absl::Status CheckPriority(double priority) {
  if (priority >= 0.0 && priority <= kPriorityMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("priority must be 0 to ", kPriorityMax, ", got ", priority));
}

}  // namespace flywheel
