#include "services/buffer/replay/heap_selector.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

constexpr std::size_t kChildren = 4;

class HeapImage final : public SelectorImage {
 public:
  HeapImage(PagedArray<uint64_t> turns, uint64_t next_turn)
      : turns_(std::move(turns)), next_turn_(next_turn) {}

  // The turns by slot. The heap itself follows from them.
  void Write(ImageWriter& image) const override {
    image.bytes().Fixed64(next_turn_);
    for (std::size_t slot = 0; slot < turns_.size(); ++slot) {
      image.bytes().Varint(next_turn_ - turns_[slot]);
      image.MayFlush();
    }
  }

 private:
  const PagedArray<uint64_t> turns_;
  const uint64_t next_turn_;
};

}  // namespace

void HeapSelector::Append(double priority) {
  const auto slot = static_cast<Slot>(size());
  turns_.PushBack(next_turn_++);
  positions_.PushBack(0);
  heap_.PushBack({});
  MoveUp(slot, MakeNode(priority, slot));
}

void HeapSelector::Update(Slot slot, double priority) {
  turns_.Set(slot, next_turn_++);
  Settle(positions_[slot], MakeNode(priority, slot));
}

void HeapSelector::Remove(Slot slot) {
  const std::size_t gap = positions_[slot];
  const Node lowest = heap_[size() - 1];
  heap_.PopBack();
  // Only now do slots change: nodes are compared by their turns.
  if (lowest.slot != slot) Settle(gap, lowest);

  const auto last = static_cast<Slot>(positions_.size() - 1);
  if (slot != last) {
    turns_.Set(slot, turns_[last]);
    positions_.Set(slot, positions_[last]);
    heap_.Mutable(positions_[last]).slot = slot;
  }
  turns_.PopBack();
  positions_.PopBack();
}

void HeapSelector::Clear() {
  heap_.Clear();
  positions_.Clear();
  turns_.Clear();
  next_turn_ = 0;
}

std::unique_ptr<SelectorImage> HeapSelector::Share() {
  return std::make_unique<HeapImage>(turns_.Share(), next_turn_);
}

absl::Status HeapSelector::Read(ByteReader& image) {
  next_turn_ = image.Fixed64();
  for (std::size_t slot = 0; slot < size(); ++slot) {
    const uint64_t age = image.Varint();
    if (!image.ok() || age == 0 || age > next_turn_) {
      return absl::DataLossError(absl::StrCat(
          "age of slot ", slot, " must be 1 to ", next_turn_,
          image.ok() ? absl::StrCat(", is ", age) : ", is missing"));
    }
    turns_.Set(slot, next_turn_ - age);
  }
  for (std::size_t at = size(); at-- > 0;) MoveDown(at, Node(heap_[at]));
  return absl::OkStatus();
}

bool HeapSelector::Before(const Node& a, const Node& b) const {
  if (a.rank() != b.rank()) return a.rank() < b.rank();
  return turns_[a.slot] < turns_[b.slot];
}

void HeapSelector::Put(std::size_t at, Node node) {
  heap_.Set(at, node);
  positions_.Set(node.slot, static_cast<uint32_t>(at));
}

void HeapSelector::MoveUp(std::size_t at, Node node) {
  while (at > 0 && Before(node, heap_[(at - 1) / kChildren])) {
    Put(at, heap_[(at - 1) / kChildren]);
    at = (at - 1) / kChildren;
  }
  Put(at, node);
}

void HeapSelector::MoveDown(std::size_t at, Node node) {
  for (;;) {
    const std::size_t first = at * kChildren + 1;
    const std::size_t end = std::min(first + kChildren, heap_.size());
    if (first >= end) break;
    std::size_t best = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (Before(heap_[child], heap_[best])) best = child;
    }
    if (!Before(heap_[best], node)) break;
    Put(at, heap_[best]);
    at = best;
  }
  Put(at, node);
}

void HeapSelector::Settle(std::size_t at, const Node& node) {
  if (at > 0 && Before(node, heap_[(at - 1) / kChildren])) {
    MoveUp(at, node);
  } else {
    MoveDown(at, node);
  }
}

}  // namespace flywheel
