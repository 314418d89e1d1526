#include "services/buffer/replay/key_index.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

// An index beside the keys by slot, and a map that says the same.
class IndexAndModel {
 public:
  explicit IndexAndModel(std::size_t expected) : index_(expected) {}

  void Insert(uint64_t key) {
    if (model_.contains(key)) return;
    index_.Insert(key, static_cast<uint32_t>(keys_.size()));
    model_[key] = static_cast<uint32_t>(keys_.size());
    keys_.push_back(key);
  }

  // The last key takes the slot of the one that goes.
  void Erase(uint64_t key) {
    const auto found = model_.find(key);
    if (found == model_.end()) return;
    const uint32_t slot = found->second;
    index_.Erase(key, slot);
    model_.erase(found);
    const auto last = static_cast<uint32_t>(keys_.size() - 1);
    if (slot != last) {
      index_.Move(keys_[last], last, slot);
      model_[keys_[last]] = slot;
      keys_[slot] = keys_[last];
    }
    keys_.pop_back();
  }

  void Check(uint64_t keys_below) {
    ASSERT_EQ(index_.size(), model_.size());
    for (uint64_t key = 0; key < keys_below; ++key) {
      const auto found = model_.find(key);
      ASSERT_EQ(index_.Find(key, [&](uint32_t slot) { return keys_[slot]; }),
                found == model_.end() ? KeyIndex::kNone : found->second);
    }
  }

 private:
  KeyIndex index_;
  std::vector<uint64_t> keys_;
  std::map<uint64_t, uint32_t> model_;
};

TEST(KeyIndexTest, FindsWhatAMapFinds) {
  for (const std::size_t expected : {0, 100, 5000}) {
    std::mt19937_64 random(expected);
    IndexAndModel both(expected);
    for (int i = 0; i < 100'000; ++i) {
      // Up to 2,000 keys, in waves: it fills, grows and empties.
      const bool fills = i / 10'000 % 2 == 0;
      const uint64_t key = random() % 2000;
      if (random() % 4 < (fills ? 3 : 1)) {
        both.Insert(key);
      } else {
        both.Erase(key);
      }
      if (i % 5000 == 0) both.Check(2000);
    }
    both.Check(2000);
  }
}

TEST(KeyIndexTest, AnEmptyOneFindsNothing) {
  KeyIndex index;
  const auto key_at = [](uint32_t) { return uint64_t{0}; };
  EXPECT_EQ(index.Find(0, key_at), KeyIndex::kNone);
  index.Insert(0, 0);
  EXPECT_EQ(index.Find(0, key_at), 0u);
  index.Clear();
  EXPECT_EQ(index.Find(0, key_at), KeyIndex::kNone);
}

}  // namespace
}  // namespace flywheel
