#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "services/buffer/replay/replay_table.h"

namespace flywheel {

// A table done plainly: what ReplayTable must do, in a few lines each and in
// any time. Slots are as there: the last item takes the slot of one that goes.
class ReplayModel {
 public:
  struct Item {
    uint64_t key = 0;
    double priority = 0;
    std::vector<ItemRecord> records;
    uint32_t first_offset = 0;
    uint32_t num_steps = 0;
    uint32_t times_sampled = 0;
    uint64_t inserted = 0;  // Turns: when it was inserted,
    uint64_t set = 0;       // and when its priority was last set.
  };

  explicit ReplayModel(const ReplayTableOptions& options) : options_(options) {}

  const ReplayTableOptions& options() const { return options_; }
  std::vector<Item>& items() { return items_; }
  const RateLimiterCounts& counts() const { return counts_; }

  Item* Find(uint64_t key) {
    const auto found =
        std::find_if(items_.begin(), items_.end(),
                     [key](const Item& item) { return item.key == key; });
    return found == items_.end() ? nullptr : &*found;
  }

  // Of its records, each counted once.
  uint64_t bytes() const {
    std::map<uint64_t, uint64_t> sizes;
    for (const Item& item : items_) {
      for (const ItemRecord& record : item.records) {
        sizes[record.id.value] = record.bytes;
      }
    }
    uint64_t bytes = 0;
    for (const auto& [id, size] : sizes) bytes += size;
    return bytes;
  }

  bool IsOverFull() const {
    return items_.size() > options_.items_max ||
           (options_.bytes_max < uint64_t{1} << 30 &&
            bytes() > options_.bytes_max);
  }

  bool CanInsert(int64_t number) const {
    const RateLimiterOptions& limit = options_.rate_limiter;
    if (std::ssize(items_) + number <= limit.min_size_to_sample) return true;
    return static_cast<double>(counts_.inserts + number) *
                   limit.samples_per_insert -
               static_cast<double>(counts_.samples) <=
           limit.max_diff;
  }

  bool CanSample() const {
    const RateLimiterOptions& limit = options_.rate_limiter;
    return std::ssize(items_) >= limit.min_size_to_sample &&
           static_cast<double>(counts_.inserts) * limit.samples_per_insert -
                   static_cast<double>(counts_.samples) - 1 >=
               limit.min_diff;
  }

  void Insert(const ReplayItem& item) {
    const uint64_t now = next_++;
    items_.push_back({.key = item.key,
                      .priority = item.priority,
                      .records = {item.records.begin(), item.records.end()},
                      .first_offset = item.first_offset,
                      .num_steps = item.num_steps,
                      .inserted = now,
                      .set = now});
    ++counts_.inserts;
  }

  void SetPriority(Item& item, double priority) {
    item.priority = priority;
    item.set = next_++;
  }

  void Draw(Item& item) {
    ++counts_.samples;
    if (++item.times_sampled == options_.max_times_sampled) Remove(item);
  }

  void Remove(Item& item) {
    ++counts_.deletes;
    item = Item(items_.back());
    items_.pop_back();
  }

  void Reset() {
    items_.clear();
    counts_ = {};
  }

  // Whether a selector may select `item` by these bits, and how likely it is.
  bool MaySelect(const SelectorOptions& selector, uint64_t bits,
                 const Item& item, double& probability) const {
    const std::size_t slot = &item - items_.data();
    probability = 1.0;
    switch (selector.kind) {
      case SelectorKind::kFifo:
        return IsFirst(
            item, [](const Item& i) { return std::pair(0.0, i.inserted); });
      case SelectorKind::kLifo:
        return IsFirst(
            item, [](const Item& i) { return std::pair(0.0, ~i.inserted); });
      case SelectorKind::kMinHeap:
        return IsFirst(
            item, [](const Item& i) { return std::pair(i.priority, i.set); });
      case SelectorKind::kMaxHeap:
        return IsFirst(
            item, [](const Item& i) { return std::pair(-i.priority, i.set); });
      case SelectorKind::kUniform:
        probability = 1.0 / static_cast<double>(items_.size());
        return slot == UniformSlotOf(bits);
      case SelectorKind::kPrioritized:
        break;
    }
    return MaySelectByWeight(selector.priority_exponent, bits, slot,
                             probability);
  }

 private:
  template <typename Rank>
  bool IsFirst(const Item& item, Rank rank) const {
    return std::all_of(items_.begin(), items_.end(), [&](const Item& other) {
      return rank(item) <= rank(other);
    });
  }

  std::size_t UniformSlotOf(uint64_t bits) const {
    return static_cast<std::size_t>(
        absl::Uint128High64(absl::uint128(bits) * items_.size()));
  }

  bool MaySelectByWeight(double exponent, uint64_t bits, std::size_t slot,
                         double& probability) const {
    std::vector<long double> weights;
    long double total = 0;
    for (const Item& item : items_) {
      weights.push_back(item.priority == 0 ? 0
                                           : std::pow(item.priority, exponent));
      total += weights.back();
    }
    if (total == 0) {
      probability = 1.0 / static_cast<double>(items_.size());
      return slot == UniformSlotOf(bits);
    }
    probability = static_cast<double>(weights[slot] / total);
    long double before = 0;
    for (std::size_t i = 0; i < slot; ++i) before += weights[i];
    const long double target =
        total * static_cast<double>(bits >> 11) * 0x1.0p-53;
    const long double rounding = total * 1e-12L;
    return weights[slot] > 0 && target >= before - rounding &&
           target <= before + weights[slot] + rounding;
  }

  ReplayTableOptions options_;
  std::vector<Item> items_;
  RateLimiterCounts counts_;
  uint64_t next_ = 0;
};

}  // namespace flywheel
