#pragma once

#include "absl/numeric/int128.h"
#include "services/buffer/replay/item_selector.h"

namespace flywheel {

// A slot below `size`, each equally often (to 2^-64 of `size`).
inline Slot UniformSlot(uint64_t random_bits, std::size_t size) {
  return static_cast<Slot>(
      absl::Uint128High64(absl::uint128(random_bits) * size));
}

// Selects each item equally often. Needs no memory, since slots have no gaps.
class UniformSelector final : public ItemSelector {
 public:
  std::size_t size() const override { return size_; }
  void Append(double /*priority*/) override { ++size_; }
  void Update(Slot /*slot*/, double /*priority*/) override {}
  void Remove(Slot /*slot*/) override { --size_; }
  Selection Select(uint64_t random_bits) const override {
    return {.slot = UniformSlot(random_bits, size_),
            .probability = 1.0 / static_cast<double>(size_)};
  }
  void Clear() override { size_ = 0; }

 private:
  std::size_t size_ = 0;
};

}  // namespace flywheel
