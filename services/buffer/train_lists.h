#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "services/buffer/stored_record.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// The lists of train steps the learner may still ask for: the same records,
// however often it asks, so that a restarted learner repeats its steps.
//
// Not thread-safe.
class TrainLists {
 public:
  // Keeps the list of `step`, sorted by (environment, episode, first step).
  // REQUIRES: no list of this step is kept.
  void Add(int64_t step, std::vector<StoredRecord> records);

  // In list order; nullptr if it is not kept. Valid until the next change.
  const std::vector<MessageFrame>* Find(int64_t step) const;

  // Forgets the lists of all steps before `step`.
  void ReleaseBefore(int64_t step);

  // Forgets the oldest list. False if there is none.
  bool ReleaseOldest();

  void Clear();

  std::size_t size() const { return lists_.size(); }
  std::size_t num_records() const { return num_records_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void Release(std::map<int64_t, std::vector<MessageFrame>>::iterator list);

  std::map<int64_t, std::vector<MessageFrame>> lists_;  // By train step.
  std::size_t num_records_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace flywheel
