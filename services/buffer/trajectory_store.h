#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "services/buffer/stored_record.h"
#include "services/buffer/table.h"
#include "services/buffer/train_lists.h"
#include "services/core/credit.h"

namespace flywheel {

// Everything the buffer holds, within one limit of memory: the fifo table
// "queue" of ready credits, the uniform table "demonstrations", and the lists
// of train steps.
//
// Where memory is short the oldest lists go first: they only serve a learner
// that falls back, and that one may start over instead (Pacer::JumpTo).
//
// Not thread-safe.
class TrajectoryStore {
 public:
  struct Options {
    std::size_t credits_max = 80;  // Ready at once.
    std::size_t demonstrations_max = 0;
    std::size_t bytes_max = std::size_t{4} << 30;
  };

  explicit TrajectoryStore(const Options& options);

  // What a credit brought. ResourceExhausted: it does not fit.
  absl::Status Insert(const Credit& credit, std::vector<StoredRecord> records);

  // Moves the records of `credits` from the queue to the list of `step`.
  void MakeList(int64_t step, const std::vector<Credit>& credits);

  // Forgets the queue and every list; returns how many records were queued.
  std::size_t ClearTraining();

  TrainLists& lists() { return lists_; }
  const TrainLists& lists() const { return lists_; }
  const Table& queue() const { return queue_; }
  const Table& demonstrations() const { return demonstrations_; }

  std::size_t num_records() const;
  std::size_t bytes() const;
  int64_t lists_evicted() const { return lists_evicted_; }

 private:
  // Constant after construction.
  const Options options_;

  Table queue_;
  Table demonstrations_;
  TrainLists lists_;
  std::size_t num_queued_records_ = 0;
  int64_t lists_evicted_ = 0;  // For want of memory.
};

}  // namespace flywheel
