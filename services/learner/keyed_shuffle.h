#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "services/core/keyed_random.h"

namespace flywheel {

// 0 to count - 1 in an order that `key` decides (Fisher and Yates): the same on
// every machine.
inline std::vector<int64_t> KeyedPermutation(uint64_t key, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    const uint64_t bits = MixBits(key + static_cast<uint64_t>(i));
    std::swap(order[i], order[bits % static_cast<uint64_t>(i + 1)]);
  }
  return order;
}

}  // namespace flywheel
