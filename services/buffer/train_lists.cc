#include "services/buffer/train_lists.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace flywheel {
namespace {

// What a list is sorted by. Episodes of a rollout that was started again count
// from 0 again: its incarnation tells them apart.
auto ListOrder(const StoredRecord& record) {
  const RecordHeader& header = record.header;
  return std::tuple(header.environment, header.episode, header.first_step,
                    header.incarnation, header.sequence);
}

}  // namespace

void TrainLists::Add(int64_t step, std::vector<StoredRecord> records) {
  std::sort(records.begin(), records.end(),
            [](const StoredRecord& a, const StoredRecord& b) {
              return ListOrder(a) < ListOrder(b);
            });
  std::vector<MessageFrame> frames;
  frames.reserve(records.size());
  for (StoredRecord& record : records) {
    bytes_ += record.frame.size();
    frames.push_back(std::move(record.frame));
  }
  num_records_ += frames.size();
  lists_.emplace(step, std::move(frames));
}

const std::vector<MessageFrame>* TrainLists::Find(int64_t step) const {
  const auto list = lists_.find(step);
  return list == lists_.end() ? nullptr : &list->second;
}

void TrainLists::ReleaseBefore(int64_t step) {
  while (!lists_.empty() && lists_.begin()->first < step) {
    Release(lists_.begin());
  }
}

bool TrainLists::ReleaseOldest() {
  if (lists_.empty()) return false;
  Release(lists_.begin());
  return true;
}

void TrainLists::Clear() {
  while (ReleaseOldest()) {
  }
}

void TrainLists::Release(
    std::map<int64_t, std::vector<MessageFrame>>::iterator list) {
  for (const MessageFrame& frame : list->second) bytes_ -= frame.size();
  num_records_ -= list->second.size();
  lists_.erase(list);
}

}  // namespace flywheel
