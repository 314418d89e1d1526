#include "services/buffer/table.h"

#include <utility>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"

namespace flywheel {

std::size_t TableItem::bytes() const {
  std::size_t bytes = 0;
  for (const StoredRecord& record : records) bytes += record.frame.size();
  return bytes;
}

absl::Status Table::Insert(TableItem item) {
  if (places_.contains(item.key)) {
    return absl::AlreadyExistsError(absl::StrCat(
        "table \"", name(), "\": has an item of key ", item.key, " already"));
  }
  const std::size_t bytes = item.bytes();
  const auto fits = [&] {
    return size() + 1 <= options_.items_max &&
           bytes_ + bytes <= options_.bytes_max;
  };
  if (options_.when_full == WhenFull::kEvictOldest) {
    while (!fits() && size() > 0) Remove(by_age_.begin()->second.key);
  }
  if (!fits()) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "table \"", name(), "\": may hold at most ", options_.items_max,
        " items and ", options_.bytes_max, " bytes; it holds ", size(), " and ",
        bytes_, ", the new one has ", bytes));
  }
  bytes_ += bytes;
  places_[item.key] = {.age = next_age_, .position = keys_.size()};
  keys_.push_back(item.key);
  by_age_.emplace(next_age_++, std::move(item));
  return absl::OkStatus();
}

const TableItem* Table::Select(uint64_t random_bits) const {
  if (by_age_.empty()) return nullptr;
  if (options_.selector == Selector::kFifo) return &by_age_.begin()->second;
  const auto position = static_cast<std::size_t>(
      absl::Uint128High64(absl::uint128(random_bits) * keys_.size()));
  return &by_age_.at(places_.at(keys_[position]).age);
}

std::optional<TableItem> Table::Remove(uint64_t key) {
  const auto found = places_.find(key);
  if (found == places_.end()) return std::nullopt;
  const Place place = found->second;
  places_.erase(found);
  // The last key takes the place that becomes free.
  const uint64_t last = keys_.back();
  keys_[place.position] = last;
  keys_.pop_back();
  if (last != key) places_.at(last).position = place.position;

  auto item = by_age_.extract(place.age);
  bytes_ -= item.mapped().bytes();
  return std::move(item.mapped());
}

void Table::Clear() {
  by_age_.clear();
  keys_.clear();
  places_.clear();
  bytes_ = 0;
}

}  // namespace flywheel
