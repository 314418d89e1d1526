#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "services/wire/record.h"
#include "tests/wire/sample_record.h"

namespace flywheel {
namespace {

absl::Status ParseStatus(std::span<const std::byte> bytes) {
  static const TrajectorySchema& schema = *new TrajectorySchema(SampleSchema());
  static const uint64_t hash = SchemaHash(schema);
  return RecordView::Parse(bytes, schema, hash).status();
}

bool Refused(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status);
}

TEST(RecordCorruptionTest, EveryFlippedBitIsRefused) {
  std::vector<std::byte> bytes = SampleRecord();
  ASSERT_TRUE(ParseStatus(bytes).ok());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      const std::byte original = bytes[i];
      bytes[i] ^= std::byte{1} << bit;
      ASSERT_TRUE(Refused(ParseStatus(bytes)))
          << "byte " << i << " bit " << bit;
      ASSERT_TRUE(Refused(RecordView::ParseHeader(bytes).status()));
      bytes[i] = original;
    }
  }
}

TEST(RecordCorruptionTest, EveryOtherValueOfEveryByteIsRefused) {
  std::vector<std::byte> bytes = SampleRecord();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0xff, 0x55, 0xaa, 0x0f, 0xf0, 0x81, 0x3c}) {
      const std::byte original = bytes[i];
      bytes[i] ^= static_cast<std::byte>(change);
      ASSERT_TRUE(Refused(ParseStatus(bytes))) << "byte " << i;
      bytes[i] = original;
    }
  }
}

// Each prefix lies in memory of its own, so that AddressSanitizer sees a read
// beyond its end.
TEST(RecordCorruptionTest, EveryCutIsRefused) {
  const std::vector<std::byte> bytes = SampleRecord();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    std::vector<std::byte> cut(bytes.begin(), bytes.begin() + size);
    ASSERT_TRUE(Refused(ParseStatus(cut))) << size;
    ASSERT_TRUE(Refused(RecordView::ParseHeader(cut).status())) << size;
    if (size < sizeof(StoredHeader)) continue;
    // And with a header that tells the new length and checksum.
    std::memcpy(cut.data() + offsetof(StoredHeader, record_bytes), &size, 8);
    FixChecksum(cut);
    ASSERT_TRUE(Refused(ParseStatus(cut))) << size;
  }
}

TEST(RecordCorruptionTest, EveryExtensionIsRefused) {
  const std::vector<std::byte> bytes = SampleRecord();
  for (std::size_t more = 1; more <= 130; ++more) {
    std::vector<std::byte> extended = bytes;
    extended.resize(bytes.size() + more);
    ASSERT_TRUE(Refused(ParseStatus(extended))) << more;
    const uint64_t size = extended.size();
    std::memcpy(extended.data() + offsetof(StoredHeader, record_bytes), &size,
                8);
    FixChecksum(extended);
    ASSERT_TRUE(Refused(ParseStatus(extended))) << more;
  }
}

// One wrong number.
struct Lie {
  std::string says;  // Part of the error.
  std::function<void(StoredHeader&, StoredColumn*)> tell;
};

constexpr uint64_t kHuge = ~uint64_t{0};

// Tells the lie in a record whose checksum is right.
absl::Status StatusOf(const Lie& lie) {
  std::vector<std::byte> bytes = SampleRecord();
  StoredHeader header;
  StoredColumn columns[12];
  std::memcpy(&header, bytes.data(), sizeof(header));
  std::memcpy(columns, bytes.data() + sizeof(header), sizeof(columns));
  lie.tell(header, columns);
  std::memcpy(bytes.data(), &header, sizeof(header));
  std::memcpy(bytes.data() + sizeof(header), columns, sizeof(columns));
  FixChecksum(bytes);
  return ParseStatus(bytes);
}

void ExpectRefusedByName(const std::vector<Lie>& lies) {
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.says);
    const absl::Status status = StatusOf(lie);
    EXPECT_TRUE(Refused(status)) << status;
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, lie.says, status.ToString());
  }
}

TEST(RecordCorruptionTest, AHeaderThatLiesIsRefusedByName) {
  ExpectRefusedByName(
      {Lie{"magic", [](auto& h, auto*) { h.magic = 1; }},
       Lie{"format version must be 1, got 2",
           [](auto& h, auto*) { h.format_version = 2; }},
       Lie{"header size", [](auto& h, auto*) { h.header_bytes = 160; }},
       Lie{"header size", [](auto& h, auto*) { h.header_bytes = 0; }},
       Lie{"length", [](auto& h, auto*) { h.record_bytes = kHuge; }},
       Lie{"number of columns", [](auto& h, auto*) { h.num_columns = 0; }},
       Lie{"number of columns", [](auto& h, auto*) { h.num_columns = 257; }},
       Lie{"number of columns must be 12",
           [](auto& h, auto*) { h.num_columns = 11; }},
       Lie{"directory", [](auto& h, auto*) { h.num_columns = 256; }},
       Lie{"schema hash", [](auto& h, auto*) { h.fields.schema_hash = 1; }},
       Lie{"num_steps must be 1 to 16777216, got 0",
           [](auto& h, auto*) { h.fields.num_steps = 0; }},
       Lie{"num_steps must be 1 to 16777216, got 16777217",
           [](auto& h, auto*) { h.fields.num_steps = (1 << 24) + 1; }},
       Lie{"\"note\": items must be 16777216",
           [](auto& h, auto*) { h.fields.num_steps = 1 << 24; }},
       Lie{"num_chunks", [](auto& h, auto*) { h.fields.num_chunks = 0; }},
       Lie{"num_chunks",
           [](auto& h, auto*) { h.fields.num_chunks = 0xffffffff; }},
       Lie{"behavior_version_min",
           [](auto& h, auto*) { h.fields.behavior_version_min = 14; }}});
}

TEST(RecordCorruptionTest, ADirectoryThatLiesIsRefusedByName) {
  ExpectRefusedByName(
      {Lie{"\"observation/image\": offset",
           [](auto&, auto* c) { c[0].offset = 0; }},
       Lie{"\"observation/state\": offset",
           [](auto&, auto* c) { c[1].offset = c[0].offset; }},
       Lie{"\"observation/state\": offset",
           [](auto&, auto* c) { c[1].offset += 64; }},
       Lie{"\"seed\": offset",
           [](auto&, auto* c) { c[sample::kSeed].offset = kHuge; }},
       Lie{"must lie within",
           [](auto&, auto* c) { c[0].stored_bytes = kHuge; }},
       Lie{"must lie within",
           [](auto&, auto* c) { c[11].stored_bytes = kHuge - 400; }},
       Lie{"stored bytes must be 30, got 31",
           [](auto&, auto* c) { c[0].stored_bytes = 31; }},
       Lie{"\"instruction\": offsets",
           [](auto&, auto* c) { c[sample::kInstruction].stored_bytes = 7; }},
       Lie{"\"note\": stored bytes",
           [](auto&, auto* c) { ++c[sample::kNote].stored_bytes; }},
       Lie{"\"action\": items must be 2, got 3",
           [](auto&, auto* c) { c[sample::kAction].items = 3; }},
       Lie{"\"note\": offsets of 16777216 items need",
           [](auto& h, auto* c) {
             h.fields.num_steps = c[sample::kNote].items = 1 << 24;
           }},
       Lie{"\"note\": items",
           [](auto&, auto* c) { c[sample::kNote].items = 0xffffffff; }},
       Lie{"codec must be 0, got 1",
           [](auto&, auto* c) { c[2].codec = ColumnCodec{1}; }},
       Lie{"reserved", [](auto&, auto* c) { c[2].reserved[2] = 1; }}});
}

// Of the ragged column "note", with items of 1, 0 and 2 rows.
TEST(RecordCorruptionTest, RaggedOffsetsMustRiseFrom0ToTheRowsThereAre) {
  const std::vector<std::byte> good = SampleRecord();
  StoredColumn note;
  std::memcpy(
      &note,
      good.data() + sizeof(StoredHeader) + sample::kNote * sizeof(StoredColumn),
      sizeof(note));
  const auto status = [&](std::vector<uint32_t> offsets) {
    std::vector<std::byte> bytes = good;
    std::memcpy(bytes.data() + note.offset, offsets.data(), 16);
    FixChecksum(bytes);
    return ParseStatus(bytes);
  };
  EXPECT_TRUE(status({0, 1, 1, 3}).ok());
  EXPECT_TRUE(status({0, 3, 3, 3}).ok());
  EXPECT_FALSE(status({1, 1, 1, 3}).ok());
  EXPECT_FALSE(status({0, 2, 1, 3}).ok());
  EXPECT_FALSE(status({0, 1, 4, 3}).ok());
  EXPECT_FALSE(status({0, 1, 1, 2}).ok());
  EXPECT_FALSE(status({0, 1, 1, 4}).ok());
  EXPECT_FALSE(status({0, 1, 1, 0xffffffff}).ok());
  EXPECT_FALSE(status({0xffffffff, 0, 1, 3}).ok());
}

// Reads all that an accepted record offers.
std::size_t SumOfSizes(const RecordView& view) {
  const TrajectorySchema schema = SampleSchema();
  std::size_t sum = 0;
  for (int i = 0; i < static_cast<int>(schema.columns.size()); ++i) {
    const ColumnSchema& column = schema.columns[i];
    const std::size_t items = ItemCount(
        column.granularity, view.header().num_steps, view.header().num_chunks);
    sum += view.column(i).size();
    for (std::size_t item = 0; column.ragged && item < items; ++item) {
      for (const std::byte byte : view.ragged(i, item)) {
        sum += static_cast<std::size_t>(byte);
      }
    }
  }
  return sum;
}

TEST(RecordCorruptionTest, RandomBytesBehindARightChecksumAreSurvived) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::byte> good = SampleRecord();
  const uint64_t hash = SchemaHash(SampleSchema());
  int accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<std::byte> bytes = good;
    for (uint32_t i = 0; i <= random() % 4; ++i) {
      bytes[24 + random() % (bytes.size() - 24)] =
          static_cast<std::byte>(random());
    }
    FixChecksum(bytes);
    const absl::StatusOr<RecordView> view =
        RecordView::Parse(bytes, SampleSchema(), hash);
    if (!view.ok()) continue;
    ++accepted;
    ASSERT_GT(SumOfSizes(*view), 0u);
  }
  EXPECT_GT(accepted, 100);  // Else the loop tested only the first checks.
}

TEST(RecordCorruptionTest, ARecordBeyondTheLargestSizeIsRefused) {
  // Never touched: the size alone is looked at.
  const std::vector<std::byte> bytes = SampleRecord();
  const std::span<const std::byte> large(bytes.data(), kMaxRecordBytes + 1);
  EXPECT_TRUE(absl::IsInvalidArgument(RecordView::ParseHeader(large).status()));
}

}  // namespace
}  // namespace flywheel
