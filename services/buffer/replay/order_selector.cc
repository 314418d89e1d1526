#include "services/buffer/replay/order_selector.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

class OrderImage final : public SelectorImage {
 public:
  OrderImage(PagedArray<OrderSelector::Links> links, Slot oldest)
      : links_(std::move(links)), oldest_(oldest) {}

  // The slots, from the oldest item to the newest.
  void Write(ImageWriter& image) const override {
    for (Slot slot = oldest_; slot != OrderSelector::kNone;
         slot = links_[slot].newer) {
      image.bytes().Fixed32(slot);
      image.MayFlush();
    }
  }

 private:
  const PagedArray<OrderSelector::Links> links_;
  const Slot oldest_;
};

}  // namespace

void OrderSelector::Append(double /*priority*/) {
  const auto slot = static_cast<Slot>(links_.size());
  links_.PushBack({});
  Join(newest_, slot);
  Join(slot, kNone);
}

void OrderSelector::Remove(Slot slot) {
  const Links gone = links_[slot];
  Join(gone.older, gone.newer);
  const auto last = static_cast<Slot>(links_.size() - 1);
  if (slot != last) {
    const Links moved = links_[last];
    Join(moved.older, slot);
    Join(slot, moved.newer);
  }
  links_.PopBack();
}

void OrderSelector::Clear() {
  links_.Clear();
  oldest_ = newest_ = kNone;
}

std::unique_ptr<SelectorImage> OrderSelector::Share() {
  return std::make_unique<OrderImage>(links_.Share(), oldest_);
}

absl::Status OrderSelector::Read(ByteReader& image) {
  std::vector<bool> seen(size());
  oldest_ = newest_ = kNone;
  for (std::size_t i = 0; i < size(); ++i) {
    const Slot slot = image.Fixed32();
    if (!image.ok() || slot >= size() || seen[slot]) {
      return absl::DataLossError(absl::StrCat(
          "order must name each of ", size(), " slots once; entry ", i,
          image.ok() ? absl::StrCat(" is ", slot) : " is missing"));
    }
    seen[slot] = true;
    Join(newest_, slot);
    Join(slot, kNone);
  }
  return absl::OkStatus();
}

void OrderSelector::Join(Slot older, Slot newer) {
  (older == kNone ? oldest_ : links_.Mutable(older).newer) = newer;
  (newer == kNone ? newest_ : links_.Mutable(newer).older) = older;
}

}  // namespace flywheel
