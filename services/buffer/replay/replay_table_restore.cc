// The half of ReplayTable that makes images, and tables from images and events.

#include "absl/strings/str_cat.h"
#include "services/buffer/replay/replay_table.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

using RecordSlots = absl::InlinedVector<RecordSlot, 1>;

constexpr absl::string_view kNotThere = "event names it, but it is not there";

}  // namespace

TableImage ReplayTable::TakeImage() {
  TableImage image;
  image.options_ = options_;
  image.limiter_counts_ = limiter_.counts();
  image.counts_ = counts_;
  image.items_ = slots_.ShareItems();
  image.links_ = slots_.ShareLinks();
  image.records_ = references_.ShareRecords();
  image.sampler_ = sampler_->Share();
  if (own_remover_ != nullptr) image.remover_ = own_remover_->Share();
  return image;
}

absl::Status ReplayTable::Load(std::span<const std::byte> content,
                               RecordBytes bytes_of) {
  ByteReader image(content);
  absl::StatusOr<TableImageHead> head = ReadImageHead(image);
  if (!head.ok()) return head.status();
  if (const std::string differences = Differences(options_, head->options);
      !differences.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("table \"", name(), "\": ", differences));
  }
  if (size() > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("table \"", name(), "\" must be empty to be loaded, has ",
                     size(), " items"));
  }
  const absl::Status status = LoadItems(head->num_items, image, bytes_of);
  if (!status.ok()) {
    RemoveAll();
    return absl::Status(status.code(), absl::StrCat("image of table \"", name(),
                                                    "\": ", status.message()));
  }
  limiter_.set_counts(head->limiter_counts);
  counts_ = head->counts;
  return absl::OkStatus();
}

absl::Status ReplayTable::LoadItems(uint64_t num_items, ByteReader& image,
                                    RecordBytes bytes_of) {
  RecordId before;
  std::vector<RecordId> records;
  RecordSlots slots;
  for (uint64_t i = 0; i < num_items; ++i) {
    const StoredItem item = ReadImageItem(image, before, records);
    if (!image.ok() || slots_.Find(item.key) != ItemSlots::kNone) {
      return absl::DataLossError(absl::StrCat(
          "item ", i, " of ", num_items, ", key ", item.key,
          image.ok() ? ": is there twice"
                     : ": is cut short or has a value out of range"));
    }
    before = records.front();
    slots.clear();
    for (const RecordId record : records) {
      slots.push_back(references_.Add(number_, record, bytes_of(record)));
    }
    Append(item, slots);
  }
  FLYWHEEL_RETURN_IF_ERROR(sampler_->Read(image));
  if (own_remover_ != nullptr) {
    FLYWHEEL_RETURN_IF_ERROR(own_remover_->Read(image));
  }
  if (image.ok() && image.left() == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("has ", image.left(), " bytes too many"));
}

absl::Status ReplayTable::ApplyEvent(const InsertEvent& event,
                                     RecordBytes bytes_of) {
  if (slots_.Find(event.key) != ItemSlots::kNone) {
    return Error(absl::StatusCode::kDataLoss, event.key,
                 "event inserts it, but it is there already");
  }
  RecordSlots records;
  for (const RecordId record : event.records) {
    records.push_back(references_.Add(number_, record, bytes_of(record)));
  }
  Append({.key = event.key,
          .priority = event.priority,
          .first_offset = event.first_offset,
          .num_steps = event.num_steps},
         records);
  limiter_.Inserted();
  ++counts_.inserted;
  return absl::OkStatus();
}

absl::Status ReplayTable::ApplyEvent(const SampleEvent& event,
                                     RecordBytes /*bytes_of*/) {
  for (const uint64_t key : event.keys) {
    const Slot slot = slots_.Find(key);
    if (slot == ItemSlots::kNone) {
      return Error(absl::StatusCode::kDataLoss, key, kNotThere);
    }
    Draw(slot);
  }
  return absl::OkStatus();
}

absl::Status ReplayTable::ApplyEvent(const RemoveEvent& event,
                                     RecordBytes /*bytes_of*/) {
  for (const uint64_t key : event.keys) {
    const Slot slot = slots_.Find(key);
    if (slot == ItemSlots::kNone) {
      return Error(absl::StatusCode::kDataLoss, key, kNotThere);
    }
    Remove(slot, event.cause);
  }
  return absl::OkStatus();
}

absl::Status ReplayTable::ApplyEvent(const PriorityEvent& event,
                                     RecordBytes /*bytes_of*/) {
  for (const KeyPriority& update : event.priorities) {
    const Slot slot = slots_.Find(update.key);
    if (slot == ItemSlots::kNone) {
      return Error(absl::StatusCode::kDataLoss, update.key, kNotThere);
    }
    SetPriority(slot, update.priority);
  }
  return absl::OkStatus();
}

absl::Status ReplayTable::ApplyEvent(const ResetEvent& /*event*/,
                                     RecordBytes /*bytes_of*/) {
  counts_.reset += static_cast<int64_t>(size());
  RemoveAll();
  return absl::OkStatus();
}

}  // namespace flywheel
