#include "services/buffer/replay/item_selector.h"

#include "absl/strings/str_cat.h"
#include "services/buffer/replay/heap_selector.h"
#include "services/buffer/replay/order_selector.h"
#include "services/buffer/replay/prioritized_selector.h"
#include "services/buffer/replay/uniform_selector.h"

namespace flywheel {

const char* SelectorName(SelectorKind kind) {
  switch (kind) {
    case SelectorKind::kFifo:
      return "fifo";
    case SelectorKind::kLifo:
      return "lifo";
    case SelectorKind::kUniform:
      return "uniform";
    case SelectorKind::kPrioritized:
      return "prioritized";
    case SelectorKind::kMinHeap:
      return "min_heap";
    case SelectorKind::kMaxHeap:
      return "max_heap";
  }
  return "unknown";
}

absl::Status Validate(const SelectorOptions& options) {
  if (options.kind < SelectorKind::kFifo ||
      options.kind > SelectorKind::kMaxHeap) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kind must be 1 (fifo) to 6 (max_heap), got ", options.kind));
  }
  if (!(options.priority_exponent >= 0.0 &&
        options.priority_exponent <= kPriorityExponentMax)) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority_exponent must be 0 to ", kPriorityExponentMax,
                     ", got ", options.priority_exponent));
  }
  return absl::OkStatus();
}

std::unique_ptr<ItemSelector> MakeItemSelector(const SelectorOptions& options) {
  switch (options.kind) {
    case SelectorKind::kFifo:
      return std::make_unique<OrderSelector>(OrderSelector::End::kOldest);
    case SelectorKind::kLifo:
      return std::make_unique<OrderSelector>(OrderSelector::End::kNewest);
    case SelectorKind::kUniform:
      return std::make_unique<UniformSelector>();
    case SelectorKind::kPrioritized:
      return std::make_unique<PrioritizedSelector>(options.priority_exponent);
    case SelectorKind::kMinHeap:
      return std::make_unique<HeapSelector>(HeapSelector::Top::kLowest);
    case SelectorKind::kMaxHeap:
      return std::make_unique<HeapSelector>(HeapSelector::Top::kHighest);
  }
  return nullptr;
}

}  // namespace flywheel
