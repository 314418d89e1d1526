#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "services/buffer/replay/record_references.h"
#include "services/buffer/replay/replay_table.h"
#include "services/buffer/replay/table_events.h"

namespace flywheel {

struct TableInsert {
  std::string table;
  ReplayItem item;
};

// Several tables whose items share records.
//
// What changes is gathered as events; take them and append them to the log
// before anybody is told of the change. To come back: LoadTable() of each
// image, Apply() of all that was taken after it, then RemoveLost().
//
// Not thread-safe.
class TableSet {
 public:
  // InvalidArgument, naming the table, the field, the rule and the value; two
  // tables of one name are wrong, too.
  static absl::StatusOr<std::unique_ptr<TableSet>> Create(
      const std::vector<ReplayTableOptions>& tables);

  // Inserts all items or none; one table may get several, of different keys.
  // Fails with what the first one says that fails for good, else with what the
  // first one says that waits (see ReplayTable::CheckInsert()).
  absl::Status Insert(std::span<const TableInsert> inserts, RandomBits random);

  // The table of this name. NotFound, listing the names there are.
  absl::StatusOr<ReplayTable*> Find(absl::string_view name);

  const std::vector<std::unique_ptr<ReplayTable>>& tables() const {
    return tables_;
  }

  // See RecordReferences.
  void CollectDead(absl::FunctionRef<void(RecordId id, uint32_t bytes)> dead) {
    references_.CollectDead(dead);
  }
  const RecordReferences& references() const { return references_; }

  bool has_events() const { return !events_.empty(); }
  std::vector<std::byte> TakeEvents() { return events_.Take(); }

  // Takes what TakeEvents() gave. NotFound for a table that is none of these;
  // DataLoss, naming what does not fit, with the events before it applied.
  absl::Status Apply(std::span<const std::byte> events, RecordBytes bytes_of);

  // All tables at this one moment. Fast: see ReplayTable::TakeImage().
  std::vector<TableImage> TakeImages();

  // Loads an image of one table; see ReplayTable::Load().
  absl::Status LoadTable(std::span<const std::byte> image,
                         RecordBytes bytes_of);

  // Removes the items of lost records from all tables; returns how many.
  int64_t RemoveLost();

 private:
  TableSet(int num_tables, std::size_t records_expected)
      : references_(num_tables, records_expected) {}

  // One of the inserts, with its table found.
  struct Planned {
    ReplayTable* table = nullptr;
    const ReplayItem* item = nullptr;
    InsertCheck check = InsertCheck::kNew;
  };
  absl::StatusOr<std::vector<Planned>> Plan(
      std::span<const TableInsert> inserts);
  static absl::Status Check(std::span<Planned> plan);

  RecordReferences references_;
  TableEvents events_;
  std::vector<std::unique_ptr<ReplayTable>> tables_;
  absl::flat_hash_map<std::string, ReplayTable*> by_name_;
};

}  // namespace flywheel
