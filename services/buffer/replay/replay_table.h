#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/item_slots.h"
#include "services/buffer/replay/rate_limiter.h"
#include "services/buffer/replay/record_references.h"
#include "services/buffer/replay/replay_item.h"
#include "services/buffer/replay/replay_table_options.h"
#include "services/buffer/replay/table_events.h"
#include "services/buffer/replay/table_image.h"
#include "services/buffer/replay/wait_times.h"

namespace flywheel {

// One draw.
struct SampledItem {
  uint64_t key = 0;
  double priority = 0.0;
  double probability = 0.0;    // Of this item, when it was drawn.
  uint64_t table_size = 0;     // In items, when it was drawn.
  uint32_t times_sampled = 0;  // With this draw.
  absl::InlinedVector<RecordId, 1> records;
  uint32_t first_offset = 0;  // In steps, in the first record.
  uint32_t num_steps = 0;
};

// What inserts planned before, in the same call, will add to a table.
struct PlannedInserts {
  int64_t items = 0;
  uint64_t bytes = 0;
};

// kPresent: the same steps under the same key are there already.
enum class InsertCheck { kNew, kPresent };

struct PriorityUpdate {
  int64_t updated = 0;
  int64_t unknown = 0;  // Keys, e.g. of items that are gone by now.
  int64_t refused = 0;
  // Of the first of those refused, each naming key and value.
  std::vector<absl::Status> errors;
};

struct Deletion {
  int64_t deleted = 0;
  int64_t unknown = 0;  // Keys.
};

struct ReplayTableInfo {
  uint64_t items = 0;
  uint64_t records = 0;  // Each counted once, and so are their bytes.
  uint64_t bytes = 0;
  TableCounts counts;  // Of all times.
  RateLimiterCounts limiter_counts;
  std::string insert_waits_for;  // Empty: for nothing.
  std::string sample_waits_for;
  WaitTimes::Totals insert_waits;
  WaitTimes::Totals sample_waits;
  int64_t priorities_refused = 0;
  int64_t keys_unknown = 0;
};

// Items to sample: step ranges of records which the table refers to, but which
// others keep. One selector chooses what is sampled, another what goes when the
// table is full, and a rate limiter says when either side has to wait.
//
// Each change is also told as an event (table_events.h); the same events make
// the same table, and so does an image (table_image.h): bit for bit, so that
// the same random bits give the same samples.
//
// About 50 bytes an item and 35 a record, and what the selectors need.
//
// Not thread-safe.
class ReplayTable {
 public:
  static constexpr int kSamplesMax = 65536;      // In one call.
  static constexpr std::size_t kErrorsMax = 16;  // Told of one call.

  // `references` count this table's as those of table `number`. `events` may be
  // null: then nobody is told. Both must outlive the table.
  // REQUIRES: Validate(options).ok().
  ReplayTable(const ReplayTableOptions& options, int number,
              RecordReferences& references, TableEvents* events);

  // Whether Insert() would take the item now, after those planned.
  // InvalidArgument: its priority or its steps are wrong. AlreadyExists: there
  // are other steps under its key. ResourceExhausted: it does not fit, not even
  // alone, or because the table refuses. Unavailable: it waits, for the rate
  // limiter or for room.
  absl::StatusOr<InsertCheck> CheckInsert(
      const ReplayItem& item, const PlannedInserts& planned = {}) const;

  // Asks for what CheckInsert() looks at to be in the cache soon.
  void PrefetchInsert(const ReplayItem& item) const;

  // Adds the item, and removes what is then too much. An item that is present
  // stays as it is. Fails as CheckInsert() says, changing nothing.
  absl::Status Insert(const ReplayItem& item, RandomBits random);

  // The same for an item that CheckInsert() found to be new.
  void InsertChecked(const ReplayItem& item, RandomBits random);

  // 1 to `num_samples` draws, with replacement, one after the other: fewer if
  // the rate limiter ends them. Unavailable, saying what is missing, for none;
  // InvalidArgument for a number out of range.
  //
  // A record may be dead afterwards: see RecordReferences::CollectDead().
  absl::StatusOr<std::vector<SampledItem>> Sample(int num_samples,
                                                  RandomBits random);

  // Each priority by itself: a wrong one keeps no other from being set.
  PriorityUpdate UpdatePriorities(std::span<const KeyPriority> priorities);

  Deletion Delete(std::span<const uint64_t> keys);

  // Removes all items and forgets what the rate limiter counted.
  void Reset();

  // Takes an event of this table that is in its past. DataLoss, naming table,
  // key and rule, for one that cannot follow what is there. Tells nobody.
  absl::Status Apply(const TableEvent& event, RecordBytes bytes_of);

  // This moment's image, in the time it takes to copy a pointer for every few
  // thousand items. What changes later is copied by page.
  TableImage TakeImage();

  // Becomes what an image's content (see ImageContent()) says; the table must
  // be empty. DataLoss for bytes that are no image, FailedPrecondition for the
  // image of a table with other options: the table stays empty then.
  absl::Status Load(std::span<const std::byte> content, RecordBytes bytes_of);

  // Removes the items of which Load() or Apply() found a record to be lost, and
  // returns how many they were.
  int64_t RemoveLost();

  ReplayTableInfo Info(absl::Time now) const;

  const ReplayTableOptions& options() const { return options_; }
  const std::string& name() const { return options_.name; }
  std::size_t size() const { return slots_.size(); }
  uint64_t bytes() const { return references_.bytes(number_); }
  const RateLimiter& limiter() const { return limiter_; }

  // For the caller to tell how long inserts and samples wait.
  WaitTimes& insert_waits() { return insert_waits_; }
  WaitTimes& sample_waits() { return sample_waits_; }

 private:
  absl::Status Error(absl::StatusCode code, uint64_t key,
                     absl::string_view what) const;
  absl::Status CheckRoom(const ReplayItem& item,
                         const PlannedInserts& planned) const;
  std::string InsertWaitsFor() const;
  bool IsSame(Slot slot, const ReplayItem& item) const;

  void Append(const StoredItem& item, std::span<const RecordSlot> records);
  // Fills as many selections as draws can be made at once, and returns them:
  // at least one, since one can be made.
  std::span<const Selection> SelectAhead(std::span<Selection> selections,
                                         RandomBits random) const;
  void Take(const Selection& selection, SampledItem& sample);
  bool IsOverFull() const;
  void RemoveWhatIsTooMuch(RandomBits random);
  void Draw(Slot slot);
  void SetPriority(Slot slot, double priority);
  void Remove(Slot slot, RemovalCause cause);
  void RemoveAll();
  bool RefersToLost(Slot slot) const;

  absl::Status LoadItems(uint64_t num_items, ByteReader& image,
                         RecordBytes bytes_of);
  absl::Status ApplyEvent(const InsertEvent& event, RecordBytes bytes_of);
  absl::Status ApplyEvent(const SampleEvent& event, RecordBytes bytes_of);
  absl::Status ApplyEvent(const RemoveEvent& event, RecordBytes bytes_of);
  absl::Status ApplyEvent(const PriorityEvent& event, RecordBytes bytes_of);
  absl::Status ApplyEvent(const ResetEvent& event, RecordBytes bytes_of);

  void Tell(const TableEvent& event);

  // Constant after construction.
  const ReplayTableOptions options_;
  const int number_;
  RecordReferences& references_;
  TableEvents* const events_;
  const std::unique_ptr<ItemSelector> sampler_;
  // Null if the sampler knows all that it would: it is of the same kind.
  const std::unique_ptr<ItemSelector> own_remover_;
  const ItemSelector& remover_;

  ItemSlots slots_;
  RateLimiter limiter_;
  TableCounts counts_;
  WaitTimes insert_waits_;
  WaitTimes sample_waits_;
  int64_t priorities_refused_ = 0;
  int64_t keys_unknown_ = 0;
};

}  // namespace flywheel
