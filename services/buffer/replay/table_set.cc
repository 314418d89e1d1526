#include "services/buffer/replay/table_set.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/core/status_macros.h"

namespace flywheel {

absl::StatusOr<std::unique_ptr<TableSet>> TableSet::Create(
    const std::vector<ReplayTableOptions>& tables) {
  std::size_t items = 0;
  for (const ReplayTableOptions& options : tables) {
    FLYWHEEL_RETURN_IF_ERROR(Validate(options));
    items += options.items_max;
  }
  auto set = std::unique_ptr<TableSet>(
      new TableSet(static_cast<int>(tables.size()), items));
  for (const ReplayTableOptions& options : tables) {
    const auto number = static_cast<int>(set->tables_.size());
    set->tables_.push_back(std::make_unique<ReplayTable>(
        options, number, set->references_, &set->events_));
    ReplayTable* table = set->tables_.back().get();
    if (!set->by_name_.emplace(options.name, table).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tables must have different names; two are \"", options.name, "\""));
    }
  }
  return set;
}

absl::Status TableSet::Insert(std::span<const TableInsert> inserts,
                              RandomBits random) {
  absl::StatusOr<std::vector<Planned>> plan = Plan(inserts);
  if (!plan.ok()) return plan.status();
  FLYWHEEL_RETURN_IF_ERROR(Check(*plan));
  for (const Planned& planned : *plan) {
    if (planned.check == InsertCheck::kNew) {
      planned.table->InsertChecked(*planned.item, random);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ReplayTable*> TableSet::Find(absl::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  return absl::NotFoundError(absl::StrCat(
      "no table \"", name.substr(0, kTableNameBytesMax), "\"; there are ",
      absl::StrJoin(tables_, ", ", [](std::string* out, const auto& table) {
        absl::StrAppend(out, "\"", table->name(), "\"");
      })));
}

absl::Status TableSet::Apply(std::span<const std::byte> events,
                             RecordBytes bytes_of) {
  const absl::StatusOr<std::vector<NamedTableEvent>> read =
      TableEventsFromBytes(events);
  if (!read.ok()) return read.status();
  for (const NamedTableEvent& event : *read) {
    const absl::StatusOr<ReplayTable*> table = Find(event.table);
    if (!table.ok()) return table.status();
    FLYWHEEL_RETURN_IF_ERROR((*table)->Apply(event.event, bytes_of));
  }
  return absl::OkStatus();
}

std::vector<TableImage> TableSet::TakeImages() {
  std::vector<TableImage> images;
  for (const auto& table : tables_) images.push_back(table->TakeImage());
  return images;
}

absl::Status TableSet::LoadTable(std::span<const std::byte> image,
                                 RecordBytes bytes_of) {
  const absl::StatusOr<std::span<const std::byte>> content =
      ImageContent(image);
  if (!content.ok()) return content.status();
  ByteReader reader(*content);
  const absl::StatusOr<TableImageHead> head = ReadImageHead(reader);
  if (!head.ok()) return head.status();
  const absl::StatusOr<ReplayTable*> table = Find(head->options.name);
  if (!table.ok()) return table.status();
  return (*table)->Load(*content, bytes_of);
}

int64_t TableSet::RemoveLost() {
  int64_t lost = 0;
  for (const auto& table : tables_) lost += table->RemoveLost();
  return lost;
}

absl::StatusOr<std::vector<TableSet::Planned>> TableSet::Plan(
    std::span<const TableInsert> inserts) {
  std::vector<Planned> plan;
  plan.reserve(inserts.size());
  for (const TableInsert& insert : inserts) {
    const absl::StatusOr<ReplayTable*> table = Find(insert.table);
    if (!table.ok()) return table.status();
    (*table)->PrefetchInsert(insert.item);
    plan.push_back({.table = *table, .item = &insert.item});
  }
  return plan;
}

absl::Status TableSet::Check(std::span<Planned> plan) {
  absl::flat_hash_map<ReplayTable*, PlannedInserts> planned;
  absl::flat_hash_set<std::pair<ReplayTable*, uint64_t>> keys;
  absl::Status waits;
  for (Planned& insert : plan) {
    if (!keys.emplace(insert.table, insert.item->key).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("table \"", insert.table->name(),
                       "\": keys must be different, but key ", insert.item->key,
                       " is inserted twice in one call"));
    }
    PlannedInserts& before = planned[insert.table];
    const absl::StatusOr<InsertCheck> check =
        insert.table->CheckInsert(*insert.item, before);
    if (check.ok()) {
      insert.check = *check;
      if (*check == InsertCheck::kPresent) continue;
    } else if (!absl::IsUnavailable(check.status())) {
      return check.status();
    } else if (waits.ok()) {
      // What is wrong with a later one need not wait to be told.
      waits = check.status();
    }
    ++before.items;
    for (const ItemRecord& record : insert.item->records) {
      before.bytes += record.bytes;
    }
  }
  return waits;
}

}  // namespace flywheel
