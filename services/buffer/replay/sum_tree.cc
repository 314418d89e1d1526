#include "services/buffer/replay/sum_tree.h"

namespace flywheel {
namespace {

double Sum16(const double* children) {
  double sums[4];
  for (int i = 0; i < 4; ++i) {
    sums[i] =
        (children[i] + children[i + 4]) + (children[i + 8] + children[i + 12]);
  }
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// Which of 16 children is at `target`, which becomes relative to that child.
// Rounding may carry the target past the last: then it is the last above zero.
std::size_t ChildAt(const double* children, double& target) {
  std::size_t last = 0;
  for (std::size_t i = 0; i < 16; ++i) {
    if (target < children[i]) return i;
    target -= children[i];
    if (children[i] > 0) last = i;
  }
  // Any part of it will do; it is rounding that is left.
  target = 0;
  return last;
}

}  // namespace

void SumTree::PushBack(double weight) {
  const std::size_t index = size();
  levels_.front().PushBack(weight);
  for (std::size_t level = 1, above = index; level < levels_.size(); ++level) {
    above /= kChildren;
    if (above == levels_[level].size()) levels_[level].PushBack(0);
  }
  if (levels_.back().size() > 1) {
    levels_.emplace_back();
    levels_.back().PushBack(0);
  }
  SumAbove(index);
}

void SumTree::Set(std::size_t index, double weight) {
  levels_.front().Set(index, weight);
  SumAbove(index);
}

void SumTree::PopBack() {
  std::size_t index = size() - 1;
  Set(index, 0);
  // Levels stay, so that a size around a power of 16 costs nothing.
  for (PagedArray<double>& level : levels_) {
    level.PopBack();
    if (index % kChildren != 0) break;
    index /= kChildren;
  }
}

std::size_t SumTree::Find(double part) const {
  double target = part * total();
  std::size_t index = 0;
  for (std::size_t level = levels_.size() - 1; level-- > 0;) {
    index *= kChildren;
    index += ChildAt(levels_[level].from(index), target);
  }
  return index;
}

void SumTree::SumAbove(std::size_t index) {
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    index /= kChildren;
    levels_[level].Set(index,
                       Sum16(levels_[level - 1].from(index * kChildren)));
  }
}

}  // namespace flywheel
