#include "services/buffer/replay/prioritized_selector.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "services/buffer/replay/uniform_selector.h"

namespace flywheel {

void PrioritizedSelector::Remove(Slot slot) {
  const std::size_t last = size() - 1;
  if (slot != last) weights_.Set(slot, weights_.weight(last));
  weights_.PopBack();
}

Selection PrioritizedSelector::Select(uint64_t random_bits) const {
  const double total = weights_.total();
  if (total == 0) {
    return {.slot = UniformSlot(random_bits, size()),
            .probability = 1.0 / static_cast<double>(size())};
  }
  const double part = static_cast<double>(random_bits >> 11) * 0x1.0p-53;
  const std::size_t slot = weights_.Find(part);
  return {.slot = static_cast<Slot>(slot),
          .probability = weights_.weight(slot) / total};
}

double PrioritizedSelector::Weight(double priority) const {
  if (priority == 0) return 0;
  if (priority_exponent_ == 1.0) return priority;
  return std::max(std::pow(priority, priority_exponent_),
                  std::numeric_limits<double>::min());
}

}  // namespace flywheel
