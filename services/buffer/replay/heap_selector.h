#pragma once

#include <array>
#include <bit>

#include "services/buffer/replay/item_selector.h"
#include "services/buffer/replay/paged_array.h"

namespace flywheel {

// Selects the item of the lowest or of the highest priority; among equals the
// one whose priority was set least recently. A heap of four children a node;
// 24 bytes an item.
class HeapSelector final : public ItemSelector {
 public:
  enum class Top { kLowest, kHighest };

  explicit HeapSelector(Top top) : top_(top) {}

  std::size_t size() const override { return heap_.size(); }
  void Append(double priority) override;
  void Update(Slot slot, double priority) override;
  void Remove(Slot slot) override;
  Selection Select(uint64_t /*random_bits*/) const override {
    return {.slot = heap_[0].slot};
  }
  void Clear() override;
  std::unique_ptr<SelectorImage> Share() override;
  absl::Status Read(ByteReader& image) override;

 private:
  // The lowest rank is on top. In two halves, which leaves no gap behind.
  struct Node {
    std::array<uint32_t, 2> rank_bits = {};
    Slot slot = 0;

    double rank() const { return std::bit_cast<double>(rank_bits); }
  };

  Node MakeNode(double priority, Slot slot) const {
    const double rank = top_ == Top::kLowest ? priority : -priority;
    return {.rank_bits = std::bit_cast<std::array<uint32_t, 2>>(rank),
            .slot = slot};
  }
  bool Before(const Node& a, const Node& b) const;
  void Put(std::size_t at, Node node);
  void MoveUp(std::size_t at, Node node);
  void MoveDown(std::size_t at, Node node);
  void Settle(std::size_t at, const Node& node);

  // Constant after construction.
  const Top top_;

  uint64_t next_turn_ = 0;
  PagedArray<Node> heap_;
  PagedArray<uint32_t> positions_;  // In heap_, by slot.
  PagedArray<uint64_t>
      turns_;  // By slot: grows with each priority that is set.
};

}  // namespace flywheel
