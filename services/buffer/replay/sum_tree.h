#pragma once

#include <cstddef>
#include <vector>

#include "services/buffer/replay/paged_array.h"

namespace flywheel {

// Weights by index, and their sums, to find the index at a given part of the
// total in O(log n).
//
// A parent is always computed anew from its 16 children, in a fixed order,
// never corrected by a difference: so there is no drift, a weight of zero is
// never found, and the same weights give the same sums whatever came before.
// Sixteen children lie in two cache lines; 10 million weights are six levels,
// of which all but the lowest two stay in the cache.
//
// Not thread-safe.
class SumTree {
 public:
  std::size_t size() const { return levels_.front().size(); }
  double total() const {
    return levels_.back().empty() ? 0 : *levels_.back().from(0);
  }
  double weight(std::size_t index) const { return levels_.front()[index]; }

  // REQUIRES, here and below: weights are at least 0, and their sum is finite.
  void PushBack(double weight);
  void Set(std::size_t index, double weight);
  void PopBack();

  // The index at `part` of the total, which must be above 0; `part` is in
  // [0, 1). Its weight is never 0.
  std::size_t Find(double part) const;

  void Clear() { levels_.assign(1, {}); }

 private:
  static constexpr std::size_t kChildren = 16;
  static_assert(PagedArray<double>::kPageItems % kChildren == 0);

  void SumAbove(std::size_t index);

  // The weights first, the total last. Behind a level's size all is zero.
  std::vector<PagedArray<double>> levels_ = {{}};
};

}  // namespace flywheel
