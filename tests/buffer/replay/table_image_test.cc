#include "services/buffer/replay/table_image.h"

#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "services/buffer/replay/table_set.h"
#include "services/wire/crc32c.h"
#include "tests/buffer/replay/item_samples.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

using enum SelectorKind;
using Bytes = std::vector<std::byte>;

ReplayTableOptions OptionsOf(SelectorKind sampler, SelectorKind remover) {
  return {.name = "replay",
          .sampler = {.kind = sampler, .priority_exponent = 0.6},
          .remover = {.kind = remover},
          .max_times_sampled = 9,
          .items_max = 200};
}

std::unique_ptr<TableSet> MakeSet(const ReplayTableOptions& options) {
  auto set = TableSet::Create({options});
  EXPECT_TRUE(set.ok()) << set.status();
  return *std::move(set);
}

// Inserts, draws, sets priorities and deletes; returns what was drawn.
std::vector<uint64_t> Use(TableSet& set, int rounds, const SeededBits& random) {
  ReplayTable& table = *set.tables()[0];
  std::vector<uint64_t> drawn;
  for (int i = 0; i < rounds; ++i) {
    const uint64_t key = random();
    const uint64_t first = random() % 1000;
    EXPECT_TRUE(table
                    .Insert(ItemOf(key, first, first + random() % 3,
                                   static_cast<double>(random() % 8)),
                            random)
                    .ok());
    const auto samples = table.Sample(2, random);
    EXPECT_TRUE(samples.ok()) << samples.status();
    for (const SampledItem& sample : *samples) drawn.push_back(sample.key);
    table.UpdatePriorities(std::vector<KeyPriority>{
        {drawn.back(), static_cast<double>(random() % 8)}});
    if (i % 5 == 0)
      table.Delete(std::vector<uint64_t>{drawn[drawn.size() / 2]});
  }
  return drawn;
}

Bytes ImageOf(TableSet& set) { return set.TakeImages()[0].Bytes(); }

// With the right checksum for what is in it.
Bytes WithChecksum(Bytes image) {
  const uint32_t crc =
      Crc32c(std::span(image).first(image.size() - sizeof(uint32_t)));
  for (int i = 0; i < 4; ++i) {
    image[image.size() - 4 + i] = static_cast<std::byte>(crc >> (8 * i));
  }
  return image;
}

// Every pair of selectors once as sampler and once as remover.
TEST(TableImageTest, ARestoredTableGoesOnBitByBit) {
  for (int sampler = 1; sampler <= 6; ++sampler) {
    for (int remover = 1; remover <= 6; ++remover) {
      const ReplayTableOptions options =
          OptionsOf(static_cast<SelectorKind>(sampler),
                    static_cast<SelectorKind>(remover));
      SCOPED_TRACE(Differences({}, options));
      const SeededBits random(10 * sampler + remover);
      const auto set = MakeSet(options);
      Use(*set, 600, random);

      const auto restored = MakeSet(options);
      const absl::Status status = restored->LoadTable(ImageOf(*set), SizeOf);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(ImageOf(*restored), ImageOf(*set));
      EXPECT_EQ(restored->references().num_live(),
                set->references().num_live());
      const SeededBits again = random;
      EXPECT_EQ(Use(*restored, 400, again), Use(*set, 400, random));
      EXPECT_EQ(ImageOf(*restored), ImageOf(*set));
    }
  }
}

TEST(TableImageTest, StaysAsItWasWhileTheTableGoesOn) {
  const SeededBits random(1);
  const auto set = MakeSet(OptionsOf(kPrioritized, kFifo));
  Use(*set, 500, random);
  const TableImage image = std::move(set->TakeImages()[0]);
  const Bytes before = image.Bytes();
  std::jthread writer([&] { EXPECT_EQ(image.Bytes(), before); });
  Use(*set, 2000, random);
  set->CollectDead([](RecordId, uint32_t) {});
  set->tables()[0]->Reset();
  writer.join();
  EXPECT_EQ(image.Bytes(), before);
}

TEST(TableImageTest, TellsOfASinkThatFails) {
  const auto set = MakeSet(OptionsOf(kUniform, kFifo));
  Use(*set, 10, SeededBits(1));
  EXPECT_EQ(set->TakeImages()[0]
                .Write([](std::span<const std::byte>) {
                  return absl::ResourceExhaustedError("the disk is full");
                })
                .message(),
            "the disk is full");
}

class WrongImageTest : public testing::Test {
 protected:
  WrongImageTest() {
    const auto set = MakeSet(options_);
    Use(*set, 30, SeededBits(1));
    image_ = ImageOf(*set);
  }

  absl::Status Load(std::span<const std::byte> image) {
    const auto set = MakeSet(options_);
    const absl::Status status = set->LoadTable(image, SizeOf);
    if (!status.ok()) {
      // As if nothing had been tried.
      EXPECT_EQ(set->tables()[0]->size(), 0u);
      EXPECT_EQ(set->references().num_live(), 0u);
      EXPECT_EQ(set->tables()[0]->limiter().counts(), RateLimiterCounts());
      EXPECT_TRUE(set->tables()[0]->Insert(ItemOf(1), SeededBits(1)).ok());
    }
    return status;
  }

  const ReplayTableOptions options_ = OptionsOf(kMinHeap, kFifo);
  Bytes image_;
};

TEST_F(WrongImageTest, AnyByteThatChangedIsFound) {
  ASSERT_TRUE(Load(image_).ok());
  for (std::size_t at = 0; at < image_.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      Bytes wrong = image_;
      wrong[at] ^= static_cast<std::byte>(flip);
      ASSERT_EQ(Load(wrong).code(), absl::StatusCode::kDataLoss) << at;
    }
  }
}

TEST_F(WrongImageTest, AnyLengthButTheRightOneIsFound) {
  for (std::size_t size = 0; size < image_.size(); ++size) {
    ASSERT_EQ(Load(std::span(image_).first(size)).code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
  Bytes longer = image_;
  longer.push_back({});
  EXPECT_EQ(Load(longer).code(), absl::StatusCode::kDataLoss);
}

// What the checksum does not find, since whoever wrote this did it on purpose.
TEST_F(WrongImageTest, NoByteDoesHarmEvenWithARightChecksum) {
  for (std::size_t at = 0; at + 4 < image_.size(); ++at) {
    for (const int flip : {0x01, 0x40, 0x80, 0xff}) {
      Bytes wrong = image_;
      wrong[at] ^= static_cast<std::byte>(flip);
      const absl::Status status = Load(WithChecksum(wrong));
      ASSERT_TRUE(status.ok() || !status.message().empty());
    }
  }
  for (std::size_t size = 4; size < image_.size(); ++size) {
    const Bytes cut = WithChecksum({image_.begin(), image_.begin() + size});
    ASSERT_FALSE(Load(cut).ok()) << size;
  }
}

TEST_F(WrongImageTest, ErrorsSayWhatIsWrong) {
  Bytes wrong = image_;
  wrong[0] = std::byte{'X'};
  EXPECT_TRUE(Contains(Load(wrong).message(), "checksum must be"));
  EXPECT_TRUE(Contains(Load(WithChecksum(wrong)).message(),
                       "image of a table must begin with 31495746"));
  wrong = image_;
  wrong[4] = std::byte{2};
  EXPECT_EQ(Load(WithChecksum(wrong)).message(),
            "image of a table: version must be 1, is 2");
}

TEST_F(WrongImageTest, OtherOptionsAreRefusedAndNamed) {
  ReplayTableOptions other = options_;
  other.items_max = 300;
  other.sampler.kind = kMaxHeap;
  const auto set = MakeSet(other);
  const absl::Status status = set->LoadTable(image_, SizeOf);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "table \"replay\": sampler is max_heap with priority_exponent 0.6 "
            "in the configuration and min_heap with priority_exponent 0.6 in "
            "what was saved; items_max is 300 in the configuration and 200 in "
            "what was saved");
}

TEST_F(WrongImageTest, ATableThatHasItemsIsNotLoaded) {
  const auto set = MakeSet(options_);
  ASSERT_TRUE(set->LoadTable(image_, SizeOf).ok());
  const absl::Status status = set->LoadTable(image_, SizeOf);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(status.message(), "must be empty to be loaded"));
}

TEST_F(WrongImageTest, ATableThatIsNotThereIsNamed) {
  ReplayTableOptions other = options_;
  other.name = "other";
  EXPECT_EQ(MakeSet(other)->LoadTable(image_, SizeOf).message(),
            "no table \"replay\"; there are \"other\"");
}

TEST_F(WrongImageTest, LostRecordsCostTheirItemsOnly) {
  const auto set = MakeSet(options_);
  int seen = 0;
  const auto every_third_lost = [&](RecordId) -> std::optional<uint32_t> {
    if (++seen % 3 == 0) return std::nullopt;
    return kRecordSize;
  };
  ASSERT_TRUE(set->LoadTable(image_, every_third_lost).ok());
  const std::size_t items = set->tables()[0]->size();
  const int64_t lost = set->RemoveLost();
  EXPECT_GT(lost, 0);
  EXPECT_EQ(set->tables()[0]->size(), items - lost);
  EXPECT_EQ(set->references().num_lost(), 0u);
  Use(*set, 50, SeededBits(2));
}

}  // namespace
}  // namespace flywheel
