#pragma once

#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/paged_array.h"

namespace flywheel {

// Selects the oldest or the newest item: a list through the slots in the order
// of insertion, 8 bytes an item.
class OrderSelector final : public ItemSelector {
 public:
  enum class End { kOldest, kNewest };

  explicit OrderSelector(End end) : end_(end) {}

  std::size_t size() const override { return links_.size(); }
  void Append(double priority) override;
  void Update(Slot /*slot*/, double /*priority*/) override {}
  void Remove(Slot slot) override;
  Selection Select(uint64_t /*random_bits*/) const override {
    return {.slot = end_ == End::kOldest ? oldest_ : newest_};
  }
  void Clear() override;
  std::unique_ptr<SelectorImage> Share() override;
  absl::Status Read(ByteReader& image) override;

  static constexpr Slot kNone = ~Slot{0};

  struct Links {
    Slot older = kNone;
    Slot newer = kNone;
  };

 private:
  // Makes `older` and `newer` neighbors; kNone is the end of the list.
  void Join(Slot older, Slot newer);

  // Constant after construction.
  const End end_;

  PagedArray<Links> links_;  // By slot.
  Slot oldest_ = kNone;
  Slot newest_ = kNone;
};

}  // namespace flywheel
