#include "services/wire/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "services/wire/crc32c.h"
#include "services/wire/record_writer.h"
#include "tests/wire/sample_record.h"

namespace flywheel {
namespace {

absl::StatusOr<RecordView> ParseSample(std::span<const std::byte> bytes) {
  return RecordView::Parse(bytes, SampleSchema(), SchemaHash(SampleSchema()));
}

template <typename T>
std::vector<T> Values(std::span<const T> values) {
  return {values.begin(), values.end()};
}

// The little-endian number at `offset`, read the way the document says.
uint64_t Number(std::span<const std::byte> bytes, std::size_t offset,
                std::size_t size) {
  uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) {
    value = value << 8 | static_cast<uint64_t>(bytes[offset + i]);
  }
  return value;
}

std::vector<double> Doubles(std::span<const std::byte> bytes) {
  std::vector<double> values(bytes.size() / sizeof(double));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(RecordTest, GivesBackEveryColumnAsItWasWritten) {
  const std::vector<std::byte> bytes = SampleRecord();
  const absl::StatusOr<RecordView> view = ParseSample(bytes);
  ASSERT_TRUE(view.ok()) << view.status();

  std::vector<std::byte> pixels(30, std::byte{100});
  std::fill_n(pixels.begin() + 15, 15, std::byte{101});
  EXPECT_EQ(Values(view->column(sample::kImage)), pixels);
  EXPECT_EQ(Values(view->elements<double>(sample::kState)),
            (std::vector<double>{0.5, 0.5, 0.5, 1.5, 1.5, 1.5}));
  EXPECT_EQ(
      Values(view->elements<float>(sample::kAction)),
      (std::vector<float>{-1.5, -1.5, -1.5, -1.5, -2.5, -2.5, -2.5, -2.5}));
  EXPECT_EQ(Values(view->elements<int32_t>(sample::kStepsExecuted)),
            (std::vector<int32_t>{2, 1}));
  EXPECT_EQ(Values(view->elements<int64_t>(sample::kBehaviorVersion)),
            (std::vector<int64_t>{12, 13}));
  EXPECT_EQ(Values(view->elements<float>(sample::kReward)),
            (std::vector<float>{0, 0.25, 0.5}));
  EXPECT_EQ(Values(view->elements<double>(sample::kFinalState)),
            (std::vector<double>{7, 7, 7}));
  EXPECT_EQ(Values(view->elements<int64_t>(sample::kSeed)),
            (std::vector<int64_t>{-42}));
  EXPECT_EQ(view->text(sample::kInstruction), "reach the red cube");
  EXPECT_EQ(view->ragged(sample::kNote, 0).size(), 1u);
  EXPECT_EQ(view->ragged(sample::kNote, 1).size(), 0u);
  EXPECT_EQ(Values(view->ragged(sample::kNote, 2)),
            (std::vector<std::byte>{std::byte{'b'}, std::byte{'c'}}));
  EXPECT_EQ(Doubles(view->ragged(sample::kPoints, 0)),
            (std::vector<double>{1, 2}));
  EXPECT_EQ(Doubles(view->ragged(sample::kPoints, 1)),
            (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(view->ragged(sample::kFinalPoints, 0).size(), 3 * sizeof(float));
}

TEST(RecordTest, GivesBackTheHeaderAndTheSchemaHash) {
  const std::vector<std::byte> bytes = SampleRecord();
  RecordHeader expected = SampleHeader();
  expected.schema_hash = SchemaHash(SampleSchema());

  const absl::StatusOr<RecordView> view = ParseSample(bytes);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->header(), expected);
  const absl::StatusOr<RecordHeader> header = RecordView::ParseHeader(bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(*header, expected);
}

// These offsets are docs/record_format.md in numbers: other programs read them.
TEST(RecordTest, LiesAsTheFormatSays) {
  const std::vector<std::byte> bytes = SampleRecord();
  EXPECT_EQ(std::memcmp(bytes.data(), "FWR1", 4), 0);
  EXPECT_EQ(Number(bytes, 4, 2), 1u);
  EXPECT_EQ(Number(bytes, 6, 2), 152u);
  EXPECT_EQ(Number(bytes, 8, 8), bytes.size());
  EXPECT_EQ(Number(bytes, 20, 4), 12u);
  EXPECT_EQ(Number(bytes, 24, 8), SchemaHash(SampleSchema()));
  for (uint64_t field = 1; field <= 10; ++field) {  // worker ... first_step
    EXPECT_EQ(Number(bytes, 24 + 8 * field, 8), field);
  }
  EXPECT_EQ(Number(bytes, 112, 4), sample::kSteps);
  EXPECT_EQ(Number(bytes, 116, 4), sample::kChunks);
  for (uint64_t field = 11; field <= 14; ++field) {  // lineage ... created
    EXPECT_EQ(Number(bytes, 120 + 8 * (field - 11), 8), field);
  }
  // 152 + 12 * 24 = 440 bytes of header and directory, so columns start at 448.
  EXPECT_EQ(Number(bytes, 152, 8), 448u);       // The image's offset,
  EXPECT_EQ(Number(bytes, 160, 8), 2 * 15u);    // bytes,
  EXPECT_EQ(Number(bytes, 168, 4), 2u);         // items,
  EXPECT_EQ(Number(bytes, 172, 4), 0u);         // and codec.
  EXPECT_EQ(Number(bytes, 152 + 24, 8), 512u);  // The state's offset.
  EXPECT_EQ(bytes[448], std::byte{100});
}

TEST(RecordTest, ChecksumIsCrc32cWithItsOwnBytesZero) {
  std::vector<std::byte> bytes = SampleRecord();
  const uint64_t stored = Number(bytes, 16, 4);
  std::fill_n(bytes.begin() + 16, 4, std::byte{0});
  EXPECT_EQ(Crc32c(bytes), stored);
}

TEST(RecordTest, AlignsEveryColumnTo64Bytes) {
  const std::vector<std::byte> bytes = SampleRecord();
  const absl::StatusOr<RecordView> view = ParseSample(bytes);
  ASSERT_TRUE(view.ok()) << view.status();
  for (int i = 0; i < static_cast<int>(SampleSchema().columns.size()); ++i) {
    EXPECT_EQ((view->column(i).data() - bytes.data()) % 64, 0) << i;
  }
  EXPECT_EQ(bytes.size() % 64, 0u);
}

TEST(RecordTest, RaggedRowsAreAlignedTo8Bytes) {
  const std::vector<std::byte> bytes = SampleRecord();
  const absl::StatusOr<RecordView> view = ParseSample(bytes);
  ASSERT_TRUE(view.ok()) << view.status();
  // Two items have three offsets, 12 bytes.
  EXPECT_EQ(view->ragged(sample::kPoints, 0).data() -
                view->column(sample::kPoints).data(),
            16);
}

TEST(RecordTest, ReadsBytesAtAnyAlignment) {
  const std::vector<std::byte> bytes = SampleRecord();
  for (std::size_t shift = 1; shift < 8; ++shift) {
    std::vector<std::byte> shifted(shift);
    shifted.insert(shifted.end(), bytes.begin(), bytes.end());
    const absl::StatusOr<RecordView> view =
        ParseSample(std::span(shifted).subspan(shift));
    ASSERT_TRUE(view.ok()) << view.status();
    EXPECT_EQ(view->text(sample::kInstruction), "reach the red cube");
  }
}

TEST(RecordTest, RefusesARecordOfAnotherSchema) {
  const absl::StatusOr<RecordView> view =
      RecordView::Parse(SampleRecord(), SampleSchema(), 123);
  EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "schema hash",
                      view.status().ToString());
}

TEST(RecordWriterTest, ClosesTheGapsOfAShorterTrajectory) {
  RecordWriter wide(SampleSchema(), 100, 50);
  wide.Begin();
  FillSample(wide, sample::kSteps, sample::kChunks);
  EXPECT_EQ(wide.Finish(SampleHeader()), SampleRecord());
}

TEST(RecordWriterTest, LeavesNothingOfAnEarlierTrajectory) {
  RecordWriter writer(SampleSchema(), 100, 50);
  writer.Begin();
  for (uint32_t i = 0; i < 100; ++i) {
    writer.scalar<float>(sample::kReward, i) = 9;
  }
  writer.SetText(sample::kInstruction, "something longer than what comes next");
  writer.SetRagged(sample::kNote, std::vector<std::string>(100, "old"));
  writer.Finish(SampleHeader());

  writer.Begin();
  const std::vector<std::byte> blank = writer.Finish(SampleHeader());
  const absl::StatusOr<RecordView> view = ParseSample(blank);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(Values(view->elements<float>(sample::kReward)),
            (std::vector<float>{0, 0, 0}));
  EXPECT_EQ(view->text(sample::kInstruction), "");
  EXPECT_EQ(view->ragged(sample::kNote, 0).size(), 0u);

  writer.Begin();
  FillSample(writer, sample::kSteps, sample::kChunks);
  EXPECT_EQ(writer.Finish(SampleHeader()), SampleRecord());
}

TEST(RecordWriterTest, WritesTheMostItemsItHasRoomFor) {
  RecordWriter writer(SampleSchema(), 7, 5);
  writer.Begin();
  writer.scalar<float>(sample::kReward, 6) = 1;
  writer.scalar<int32_t>(sample::kStepsExecuted, 4) = 2;
  RecordHeader header = SampleHeader();
  header.num_steps = 7;
  header.num_chunks = 5;
  const std::vector<std::byte> bytes = writer.Finish(header);
  const absl::StatusOr<RecordView> view = ParseSample(bytes);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->elements<float>(sample::kReward).back(), 1);
  EXPECT_EQ(view->elements<int32_t>(sample::kStepsExecuted).back(), 2);
}

TEST(RecordWriterDeathTest, AbortsWhereACallerBreaksARule) {
  RecordWriter writer(SampleSchema(), 3, 2);
  EXPECT_DEATH(writer.item(sample::kReward, 3), "within the limits");
  EXPECT_DEATH(writer.item(sample::kNote, 0), "not ragged");
  EXPECT_DEATH(writer.item(-1, 0), "column index");
  EXPECT_DEATH(writer.SetText(sample::kReward, "x"), "ragged");
  EXPECT_DEATH(writer.SetRagged(sample::kPoints, {"x"}), "whole rows");
  RecordHeader header = SampleHeader();
  header.num_steps = 4;
  EXPECT_DEATH(writer.Finish(header), "limits");
  EXPECT_DEATH(RecordWriter(SampleSchema(), 0, 1), "2\\^24");
  EXPECT_DEATH(RecordWriter({}, 1, 1), "1 to 256 columns");
}

}  // namespace
}  // namespace flywheel
