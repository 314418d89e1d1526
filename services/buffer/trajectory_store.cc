#include "services/buffer/trajectory_store.h"

#include <iterator>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {

TrajectoryStore::TrajectoryStore(const Options& options)
    : options_(options),
      queue_({.name = "queue",
              .selector = Selector::kFifo,
              .items_max = options.credits_max,
              .bytes_max = options.bytes_max}),
      demonstrations_({.name = "demonstrations",
                       .selector = Selector::kUniform,
                       .items_max = options.demonstrations_max,
                       .bytes_max = options.bytes_max}) {}

absl::Status TrajectoryStore::Insert(const Credit& credit,
                                     std::vector<StoredRecord> records) {
  TableItem item = {.key = credit.id, .records = std::move(records)};
  const std::size_t num_records = item.records.size();
  const std::size_t bytes = item.bytes();
  while (this->bytes() + bytes > options_.bytes_max) {
    // The newest list may be on its way to the learner.
    if (lists_.size() < 2 || !lists_.ReleaseOldest()) {
      return absl::ResourceExhaustedError(
          absl::StrCat("resources.buffer_bytes_max is ", options_.bytes_max,
                       " bytes; the buffer holds ", this->bytes(), ", credit ",
                       credit.id, " brought ", bytes));
    }
    ++lists_evicted_;
  }
  if (credit.kind == CreditKind::kDemonstration) {
    return demonstrations_.Insert(std::move(item));
  }
  FLYWHEEL_RETURN_IF_ERROR(queue_.Insert(std::move(item)));
  num_queued_records_ += num_records;
  return absl::OkStatus();
}

void TrajectoryStore::MakeList(int64_t step,
                               const std::vector<Credit>& credits) {
  std::vector<StoredRecord> records;
  for (const Credit& credit : credits) {
    std::optional<TableItem> item = queue_.Remove(credit.id);
    if (!item.has_value()) continue;
    std::move(item->records.begin(), item->records.end(),
              std::back_inserter(records));
  }
  num_queued_records_ -= records.size();
  lists_.Add(step, std::move(records));
}

std::size_t TrajectoryStore::ClearTraining() {
  queue_.Clear();
  lists_.Clear();
  return std::exchange(num_queued_records_, 0);
}

std::size_t TrajectoryStore::num_records() const {
  return num_queued_records_ + demonstrations_.size() + lists_.num_records();
}

std::size_t TrajectoryStore::bytes() const {
  return queue_.bytes() + demonstrations_.bytes() + lists_.bytes();
}

}  // namespace flywheel
