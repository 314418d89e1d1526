#pragma once

#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/sum_tree.h"

namespace flywheel {

// Selects items in proportion to priority ^ priority_exponent; 0 stays 0, and
// what is above 0 stays above it. An item of priority 0 is selected only where
// all are 0: then each equally often. 9 bytes an item.
class PrioritizedSelector final : public ItemSelector {
 public:
  explicit PrioritizedSelector(double priority_exponent)
      : priority_exponent_(priority_exponent) {}

  std::size_t size() const override { return weights_.size(); }
  void Append(double priority) override { weights_.PushBack(Weight(priority)); }
  void Update(Slot slot, double priority) override {
    weights_.Set(slot, Weight(priority));
  }
  void Remove(Slot slot) override;
  Selection Select(uint64_t random_bits) const override;
  void Clear() override { weights_.Clear(); }

 private:
  double Weight(double priority) const;

  // Constant after construction.
  const double priority_exponent_;

  SumTree weights_;
};

}  // namespace flywheel
