#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace flywheel {

// An array that grows page by page: items never move, growing never copies what
// is there, and at most two pages of memory are idle.
//
// Share() gives an image of this moment in the time it takes to copy one
// pointer per page; afterwards the first change in a page copies that page. So
// another thread may read the image for as long as it likes.
//
// Not thread-safe, but an image belongs to whoever took it.
template <typename T>
class PagedArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  static constexpr std::size_t kPageItems = 4096;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }

  const T& operator[](std::size_t i) const { return *from(i); }

  // Item `i` and those behind it, as far as a multiple of kPageItems.
  const T* from(std::size_t i) const {
    return &pages_[i / kPageItems]->items[i % kPageItems];
  }

  // Asks for item `i` to be in the cache soon.
  void Prefetch(std::size_t i) const { __builtin_prefetch(from(i)); }

  // To change item `i`; valid until the next Share().
  T& Mutable(std::size_t i) {
    const std::size_t page = i / kPageItems;
    if (shared_[page] != 0) CopyPage(page);
    return pages_[page]->items[i % kPageItems];
  }

  // By value: a reference to an item here would not outlive its page's copy.
  void Set(std::size_t i, T item) { Mutable(i) = item; }

  void PushBack(T item) {
    if (size_ == pages_.size() * kPageItems) {
      pages_.push_back(std::make_shared<Page>());
      shared_.push_back(0);
    }
    Mutable(size_) = item;
    ++size_;
  }

  void PopBack() {
    --size_;
    // One empty page is kept, so that a size around a page's end costs nothing.
    if (size_ + 2 * kPageItems == pages_.size() * kPageItems) {
      pages_.pop_back();
      shared_.pop_back();
    }
  }

  void Clear() {
    pages_.clear();
    shared_.clear();
    size_ = 0;
  }

  // An image of this moment, to read only.
  PagedArray Share() {
    shared_.assign(shared_.size(), 1);
    return *this;
  }

 private:
  // Aligned, so that a group of 8 items of 8 bytes is one cache line.
  struct alignas(64) Page {
    std::array<T, kPageItems> items = {};
  };

  void CopyPage(std::size_t page) {
    pages_[page] = std::make_shared<Page>(*pages_[page]);
    shared_[page] = 0;
  }

  std::size_t size_ = 0;
  std::vector<std::shared_ptr<Page>> pages_;
  std::vector<uint8_t> shared_;  // By page: an image may read it.
};

}  // namespace flywheel
