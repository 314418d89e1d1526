#include "services/buffer/replay/replay_table.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// How many of a batch are looked up together, so that the cache misses of one
// are served during those of others.
constexpr int kAhead = 16;

using RecordSlots = absl::InlinedVector<RecordSlot, 1>;

std::unique_ptr<ItemSelector> MakeOwnRemover(
    const ReplayTableOptions& options) {
  if (options.remover == options.sampler) return nullptr;
  return MakeItemSelector(options.remover);
}

uint64_t BytesOf(const ReplayItem& item) {
  uint64_t bytes = 0;
  for (const ItemRecord& record : item.records) bytes += record.bytes;
  return bytes;
}

InsertEvent EventOf(const ReplayItem& item) {
  InsertEvent event = {.key = item.key,
                       .priority = item.priority,
                       .first_offset = item.first_offset,
                       .num_steps = item.num_steps};
  for (const ItemRecord& record : item.records) {
    event.records.push_back(record.id);
  }
  return event;
}

}  // namespace

ReplayTable::ReplayTable(const ReplayTableOptions& options, int number,
                         RecordReferences& references, TableEvents* events)
    : options_(options),
      number_(number),
      references_(references),
      events_(events),
      sampler_(MakeItemSelector(options.sampler)),
      own_remover_(MakeOwnRemover(options)),
      remover_(own_remover_ != nullptr ? *own_remover_ : *sampler_),
      slots_(options.items_max),
      limiter_(options.rate_limiter) {}

absl::StatusOr<InsertCheck> ReplayTable::CheckInsert(
    const ReplayItem& item, const PlannedInserts& planned) const {
  for (const absl::Status& status :
       {CheckPriority(item.priority), CheckSteps(item)}) {
    if (!status.ok()) return Error(status.code(), item.key, status.message());
  }
  if (const Slot slot = slots_.Find(item.key); slot != ItemSlots::kNone) {
    if (IsSame(slot, item)) return InsertCheck::kPresent;
    return Error(absl::StatusCode::kAlreadyExists, item.key,
                 "is there already, with other steps");
  }
  if (const uint64_t bytes = BytesOf(item); bytes > options_.bytes_max) {
    return Error(absl::StatusCode::kResourceExhausted, item.key,
                 absl::StrCat("must have at most bytes_max ",
                              options_.bytes_max, ", has ", bytes));
  }
  if (const int64_t inserts = planned.items + 1; !limiter_.CanInsert(inserts)) {
    if (limiter_.CouldInsert(inserts)) {
      return Error(
          absl::StatusCode::kUnavailable, item.key,
          absl::StrCat("waits for ", limiter_.InsertWaitsFor(inserts)));
    }
    return Error(absl::StatusCode::kInvalidArgument, item.key,
                 absl::StrCat("the rate limiter never lets in ", inserts,
                              " items in one call"));
  }
  FLYWHEEL_RETURN_IF_ERROR(CheckRoom(item, planned));
  return InsertCheck::kNew;
}

void ReplayTable::PrefetchInsert(const ReplayItem& item) const {
  slots_.PrefetchKey(item.key);
  for (const ItemRecord& record : item.records) {
    references_.PrefetchRecord(record.id);
  }
}

absl::Status ReplayTable::Insert(const ReplayItem& item, RandomBits random) {
  const absl::StatusOr<InsertCheck> check = CheckInsert(item);
  if (!check.ok()) return check.status();
  if (*check == InsertCheck::kNew) InsertChecked(item, random);
  return absl::OkStatus();
}

void ReplayTable::InsertChecked(const ReplayItem& item, RandomBits random) {
  RecordSlots records;
  for (const ItemRecord& record : item.records) {
    records.push_back(references_.Add(number_, record.id, record.bytes));
  }
  Append({.key = item.key,
          .priority = item.priority,
          .first_offset = item.first_offset,
          .num_steps = item.num_steps},
         records);
  limiter_.Inserted();
  ++counts_.inserted;
  if (events_ != nullptr) Tell(EventOf(item));
  if (IsOverFull()) RemoveWhatIsTooMuch(random);
}

absl::StatusOr<std::vector<SampledItem>> ReplayTable::Sample(
    int num_samples, RandomBits random) {
  if (num_samples < 1 || num_samples > kSamplesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("table \"", name(), "\": num_samples must be 1 to ",
                     kSamplesMax, ", got ", num_samples));
  }
  if (!limiter_.CanSample()) {
    return absl::UnavailableError(absl::StrCat("table \"", name(),
                                               "\": sample waits for ",
                                               limiter_.SampleWaitsFor()));
  }
  std::vector<SampledItem> samples;
  samples.reserve(num_samples);
  SampleEvent event;
  std::array<Selection, kAhead> selections;
  while (std::ssize(samples) < num_samples && limiter_.CanSample()) {
    const int most =
        std::min<int>(kAhead, num_samples - static_cast<int>(samples.size()));
    for (const Selection& selection :
         SelectAhead(std::span(selections).first(most), random)) {
      Take(selection, samples.emplace_back());
      if (events_ != nullptr) event.keys.push_back(samples.back().key);
    }
  }
  if (events_ != nullptr) Tell(std::move(event));
  return samples;
}

PriorityUpdate ReplayTable::UpdatePriorities(
    std::span<const KeyPriority> priorities) {
  PriorityUpdate result;
  PriorityEvent event;
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    const KeyPriority& update = priorities[i];
    if (i + kAhead < priorities.size()) {
      slots_.PrefetchKey(priorities[i + kAhead].key);
    }
    if (absl::Status status = CheckPriority(update.priority); !status.ok()) {
      ++result.refused;
      if (result.errors.size() < kErrorsMax) {
        result.errors.push_back(
            Error(status.code(), update.key, status.message()));
      }
      continue;
    }
    const Slot slot = slots_.Find(update.key);
    if (slot == ItemSlots::kNone) {
      ++result.unknown;
      continue;
    }
    SetPriority(slot, update.priority);
    ++result.updated;
    if (events_ != nullptr) event.priorities.push_back(update);
  }
  priorities_refused_ += result.refused;
  keys_unknown_ += result.unknown;
  if (!event.priorities.empty()) Tell(std::move(event));
  return result;
}

Deletion ReplayTable::Delete(std::span<const uint64_t> keys) {
  RemoveEvent event = {.cause = RemovalCause::kDeleted};
  for (const uint64_t key : keys) {
    const Slot slot = slots_.Find(key);
    if (slot == ItemSlots::kNone) continue;
    Remove(slot, RemovalCause::kDeleted);
    event.keys.push_back(key);
  }
  const auto deleted = static_cast<int64_t>(event.keys.size());
  const int64_t unknown = std::ssize(keys) - deleted;
  keys_unknown_ += unknown;
  if (deleted > 0) Tell(std::move(event));
  return {.deleted = deleted, .unknown = unknown};
}

void ReplayTable::Reset() {
  counts_.reset += static_cast<int64_t>(size());
  RemoveAll();
  Tell(ResetEvent{});
}

absl::Status ReplayTable::Apply(const TableEvent& event, RecordBytes bytes_of) {
  return std::visit(
      [&](const auto& what) { return ApplyEvent(what, bytes_of); }, event);
}

int64_t ReplayTable::RemoveLost() {
  if (references_.num_lost() == 0) return 0;
  RemoveEvent event = {.cause = RemovalCause::kLost};
  // From behind: what takes a slot was looked at before.
  for (auto slot = static_cast<Slot>(size()); slot-- > 0;) {
    if (!RefersToLost(slot)) continue;
    event.keys.push_back(slots_[slot].key);
    Remove(slot, RemovalCause::kLost);
  }
  const auto lost = static_cast<int64_t>(event.keys.size());
  if (lost > 0) Tell(std::move(event));
  return lost;
}

ReplayTableInfo ReplayTable::Info(absl::Time now) const {
  return {.items = size(),
          .records = references_.num_records(number_),
          .bytes = bytes(),
          .counts = counts_,
          .limiter_counts = limiter_.counts(),
          .insert_waits_for = InsertWaitsFor(),
          .sample_waits_for = limiter_.SampleWaitsFor(),
          .insert_waits = insert_waits_.At(now),
          .sample_waits = sample_waits_.At(now),
          .priorities_refused = priorities_refused_,
          .keys_unknown = keys_unknown_};
}

absl::Status ReplayTable::Error(absl::StatusCode code, uint64_t key,
                                absl::string_view what) const {
  return absl::Status(code, absl::StrCat("table \"", name(), "\", item of key ",
                                         key, ": ", what));
}

absl::Status ReplayTable::CheckRoom(const ReplayItem& item,
                                    const PlannedInserts& planned) const {
  if (options_.when_full == WhenTableFull::kRemove) return absl::OkStatus();
  uint64_t new_bytes = planned.bytes;
  for (const ItemRecord& record : item.records) {
    new_bytes += references_.NewBytes(number_, record);
  }
  if (size() + planned.items + 1 <= options_.items_max &&
      bytes() + new_bytes <= options_.bytes_max) {
    return absl::OkStatus();
  }
  const bool fits_when_empty =
      static_cast<uint64_t>(planned.items) + 1 <= options_.items_max &&
      planned.bytes + BytesOf(item) <= options_.bytes_max;
  return Error(
      options_.when_full == WhenTableFull::kWait && fits_when_empty
          ? absl::StatusCode::kUnavailable
          : absl::StatusCode::kResourceExhausted,
      item.key,
      absl::StrCat("the table may hold at most ", options_.items_max,
                   " items and ", options_.bytes_max, " bytes; it holds ",
                   size(), " and ", bytes(), ", this call adds ",
                   planned.items + 1, " and ", new_bytes));
}

std::string ReplayTable::InsertWaitsFor() const {
  const bool has_room =
      size() < options_.items_max && bytes() < options_.bytes_max;
  if (options_.when_full != WhenTableFull::kWait || has_room) {
    return limiter_.InsertWaitsFor();
  }
  return absl::StrCat("room: it holds ", size(), " items and ", bytes(),
                      " bytes; items_max is ", options_.items_max,
                      ", bytes_max ", options_.bytes_max);
}

bool ReplayTable::IsSame(Slot slot, const ReplayItem& item) const {
  const StoredItem& stored = slots_[slot];
  if (stored.first_offset != item.first_offset ||
      stored.num_steps != item.num_steps) {
    return false;
  }
  std::size_t i = 0;
  bool same = true;
  slots_.VisitRecords(slot, [&](RecordSlot record) {
    same = same && i < item.records.size() &&
           item.records[i].id == references_.id(record);
    ++i;
  });
  return same && i == item.records.size();
}

void ReplayTable::Append(const StoredItem& item,
                         std::span<const RecordSlot> records) {
  slots_.Append(item, records);
  sampler_->Append(item.priority);
  if (own_remover_ != nullptr) own_remover_->Append(item.priority);
}

std::span<const Selection> ReplayTable::SelectAhead(
    std::span<Selection> selections, RandomBits random) const {
  // A draw that may remove its item has to be done before the next.
  if (options_.max_times_sampled > 0) selections = selections.first(1);
  std::size_t selected = 0;
  while (selected < selections.size() &&
         limiter_.CanSample(static_cast<int64_t>(selected) + 1)) {
    selections[selected] = sampler_->Select(random());
    slots_.Prefetch(selections[selected].slot);
    ++selected;
  }
  for (const Selection& selection : selections.first(selected)) {
    const uint32_t record = slots_[selection.slot].record;
    if ((record & kSeveralRecords) == 0) references_.Prefetch(record);
  }
  return selections.first(selected);
}

void ReplayTable::Take(const Selection& selection, SampledItem& sample) {
  const StoredItem& item = slots_[selection.slot];
  sample.key = item.key;
  sample.priority = item.priority;
  sample.probability = selection.probability;
  sample.table_size = size();
  sample.times_sampled = item.times_sampled + 1;
  sample.first_offset = item.first_offset;
  sample.num_steps = item.num_steps;
  slots_.VisitRecords(selection.slot, [&](RecordSlot record) {
    sample.records.push_back(references_.id(record));
  });
  Draw(selection.slot);
}

bool ReplayTable::IsOverFull() const {
  return size() > options_.items_max || bytes() > options_.bytes_max;
}

void ReplayTable::RemoveWhatIsTooMuch(RandomBits random) {
  RemoveEvent event = {.cause = RemovalCause::kFull};
  while (IsOverFull()) {
    const Slot slot = remover_.Select(random()).slot;
    if (events_ != nullptr) event.keys.push_back(slots_[slot].key);
    Remove(slot, RemovalCause::kFull);
  }
  Tell(std::move(event));
}

void ReplayTable::Draw(Slot slot) {
  limiter_.Sampled();
  ++counts_.sampled;
  const uint32_t times = slots_.CountSample(slot);
  if (times == 1) ++counts_.sampled_once;
  if (times == options_.max_times_sampled) Remove(slot, RemovalCause::kSampled);
}

void ReplayTable::SetPriority(Slot slot, double priority) {
  slots_.SetPriority(slot, priority);
  sampler_->Update(slot, priority);
  if (own_remover_ != nullptr) own_remover_->Update(slot, priority);
  ++counts_.priorities_set;
}

void ReplayTable::Remove(Slot slot, RemovalCause cause) {
  slots_.VisitRecords(
      slot, [this](RecordSlot record) { references_.Remove(number_, record); });
  slots_.Remove(slot);
  sampler_->Remove(slot);
  if (own_remover_ != nullptr) own_remover_->Remove(slot);
  limiter_.Deleted();
  switch (cause) {
    case RemovalCause::kFull:
      ++counts_.removed_full;
      break;
    case RemovalCause::kDeleted:
      ++counts_.deleted;
      break;
    case RemovalCause::kLost:
      ++counts_.lost;
      break;
    case RemovalCause::kSampled:
      ++counts_.removed_sampled;
      break;
  }
}

void ReplayTable::RemoveAll() {
  for (Slot slot = 0; slot < size(); ++slot) {
    slots_.VisitRecords(slot, [this](RecordSlot record) {
      references_.Remove(number_, record);
    });
  }
  slots_.Clear();
  sampler_->Clear();
  if (own_remover_ != nullptr) own_remover_->Clear();
  limiter_.Reset();
}

bool ReplayTable::RefersToLost(Slot slot) const {
  bool lost = false;
  slots_.VisitRecords(slot, [&](RecordSlot record) {
    lost = lost || references_.lost(record);
  });
  return lost;
}

void ReplayTable::Tell(const TableEvent& event) {
  if (events_ != nullptr) events_->Add(name(), event);
}

}  // namespace flywheel
