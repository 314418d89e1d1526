#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "services/buffer/stored_record.h"

namespace flywheel {

// The records of one credit, together.
struct TableItem {
  uint64_t key = 0;  // Unique in its table.
  std::vector<StoredRecord> records;

  std::size_t bytes() const;
};

// Which item Select() picks.
enum class Selector { kFifo, kUniform };

// What becomes of an item that does not fit.
enum class WhenFull { kRefuse, kEvictOldest };

// Items in memory, by key, within limits by number and bytes.
//
// Inserting shares the records' bytes, it does not copy them; they go when the
// last table, list or message that refers to them does.
//
// Not thread-safe.
class Table {
 public:
  struct Options {
    std::string name;
    Selector selector = Selector::kFifo;
    WhenFull when_full = WhenFull::kRefuse;
    std::size_t items_max = 65536;
    std::size_t bytes_max = std::size_t{1} << 32;
  };

  explicit Table(const Options& options) : options_(options) {}

  // AlreadyExists for a key that is there; ResourceExhausted, naming the limit,
  // if the item does not fit (even alone, where the oldest may be evicted).
  absl::Status Insert(TableItem item);

  // The oldest item (kFifo), or the one that `random_bits`, uniform in all 64
  // bits, choose. Nullptr if the table is empty. Valid until the next change.
  const TableItem* Select(uint64_t random_bits) const;

  // Takes the item out; nullopt if there is none of this key.
  std::optional<TableItem> Remove(uint64_t key);

  void Clear();

  const std::string& name() const { return options_.name; }
  std::size_t size() const { return by_age_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t items_max() const { return options_.items_max; }

 private:
  struct Place {
    uint64_t age = 0;          // In by_age_.
    std::size_t position = 0;  // In keys_.
  };

  // Constant after construction.
  const Options options_;

  uint64_t next_age_ = 0;
  std::size_t bytes_ = 0;
  std::map<uint64_t, TableItem> by_age_;
  std::vector<uint64_t> keys_;  // In no order: for uniform selection.
  std::unordered_map<uint64_t, Place> places_;  // By key.
};

}  // namespace flywheel
