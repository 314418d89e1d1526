#include "services/buffer/delivery_check.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "tests/buffer/job_record.h"

namespace flywheel {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Credit kCredit = {
    .id = 9, .environment = 3, .version = {5}, .deadline = 7};

JobRecord Good() {
  return {.worker = 2, .incarnation = 8, .credit = kCredit, .version = 6};
}

ExpectedRecord Expected(const Credit& credit = kCredit) {
  return {.worker = 2, .incarnation = 8, .credit = credit, .newest = {6}};
}

class DeliveryCheckTest : public testing::Test {
 protected:
  // "" if the delivery is fine, else "reason: sentence".
  std::string Check(const std::vector<MessageFrame>& frames,
                    const ExpectedRecord& expected = Expected()) {
    const auto checked = check_.Check(frames, expected);
    const auto* wrong = std::get_if<Rejection>(&checked);
    return wrong == nullptr ? "" : wrong->reason + ": " + wrong->message;
  }
  std::string Check(const JobRecord& record,
                    const std::function<void(RecordWriter&)>& edit = nullptr) {
    return Check(std::vector<MessageFrame>{JobFrame(record, edit)});
  }

  DeliveryCheck check_{JobSchema(), {.unroll_length = 8, .records_max = 3}};
};

TEST_F(DeliveryCheckTest, TakesWhatIsRight) {
  const auto checked = check_.Check(
      std::vector<MessageFrame>{JobFrame(Good()), JobFrame(Good())},
      Expected());
  const auto* records = std::get_if<std::vector<StoredRecord>>(&checked);
  ASSERT_NE(records, nullptr);
  EXPECT_EQ(records->size(), 2u);
  EXPECT_EQ(records->front().header.environment, 3u);
}

TEST_F(DeliveryCheckTest, RefusesDamagedBytes) {
  const MessageFrame good = JobFrame(Good());
  std::vector<std::byte> bytes(good.bytes().begin(), good.bytes().end());
  bytes.back() ^= std::byte{1};
  EXPECT_TRUE(Check({MessageFrame(std::move(bytes))}).starts_with("corrupt: "));
  EXPECT_TRUE(
      Check({MessageFrame(std::string_view("x"))}).starts_with("corrupt: "));
  EXPECT_TRUE(Check({MessageFrame()}).starts_with("corrupt: "));
}

TEST_F(DeliveryCheckTest, RefusesAnotherSchema) {
  TrajectorySchema other = JobSchema();
  other.columns[0].name = "observation/joints";
  EXPECT_TRUE(
      Check({JobFrame(Good(), nullptr, other)}).starts_with("schema: "));
}

TEST_F(DeliveryCheckTest, RefusesRecordsOfAnotherOwnerCreditOrEnvironment) {
  JobRecord record = Good();
  record.worker = 1;
  EXPECT_EQ(Check(record),
            "corrupt: record: worker must be 2 as of its credit, got 1");
  record = Good();
  record.incarnation = 7;
  EXPECT_EQ(Check(record),
            "corrupt: record: incarnation must be 8 as of its credit, got 7");
  record = Good();
  record.credit.id = 10;
  EXPECT_EQ(Check(record),
            "corrupt: record: credit must be 9 as of its credit, got 10");
  record = Good();
  record.credit.environment = 4;
  EXPECT_EQ(Check(record),
            "corrupt: record: environment must be 3 as of its credit, got 4");
  record = Good();
  record.credit.deadline = 99;
  EXPECT_EQ(Check(record),
            "corrupt: record: deadline must be 7 as of its credit, got 99");
}

TEST_F(DeliveryCheckTest, RefusesAVersionOlderThanTheCredits) {
  JobRecord record = Good();
  record.version = 4;
  EXPECT_EQ(Check(record),
            "stale: record: behavior_version_min must be >= 5, the version of "
            "credit 9, got 4");
}

TEST_F(DeliveryCheckTest, RefusesAVersionThatDoesNotExistYet) {
  JobRecord record = Good();
  record.version = 7;
  EXPECT_EQ(Check(record),
            "corrupt: record: behavior_version_max must be <= 6, the newest "
            "version there is, got 7");
}

TEST_F(DeliveryCheckTest, RefusesNumbersThatAreNotFinite) {
  for (const std::string_view name :
       {column::kLogProbability, column::kReward, column::kValue}) {
    for (const float bad : {kNan, std::numeric_limits<float>::infinity()}) {
      EXPECT_EQ(Check(Good(),
                      [&](RecordWriter& writer) {
                        writer.scalar<float>(JobColumn(name), 2) = bad;
                      }),
                "corrupt: record: column \"" + std::string(name) +
                    "\": element 2 must be finite");
    }
  }
  EXPECT_EQ(Check(Good(),
                  [](RecordWriter& writer) {
                    writer.elements<float>(0, 1)[1] = kNan;
                  }),
            "corrupt: record: column \"observation/state\": element 3 must be "
            "finite");
}

TEST_F(DeliveryCheckTest, RefusesAnEndingBeforeTheLastStep) {
  for (const std::string_view name :
       {column::kTerminated, column::kTruncated}) {
    EXPECT_EQ(Check(Good(),
                    [&](RecordWriter& writer) {
                      writer.scalar<uint8_t>(JobColumn(name), 1) = 1;
                    }),
              "corrupt: record: column \"" + std::string(name) +
                  "\": step 1 of 4 must be 0, as only the last may end an "
                  "episode");
  }
}

TEST_F(DeliveryCheckTest, RefusesChunksThatDoNotAddUp) {
  const int steps = JobColumn(column::kStepsExecuted);
  EXPECT_EQ(Check(Good(),
                  [&](RecordWriter& writer) {
                    writer.scalar<int32_t>(steps, 0) = 2;
                  }),
            "corrupt: record: column \"steps_executed\": must add up to "
            "num_steps, 4, got 5");
  EXPECT_EQ(Check(Good(),
                  [&](RecordWriter& writer) {
                    writer.scalar<int32_t>(steps, 3) = 0;
                  }),
            "corrupt: record: column \"steps_executed\": chunk 3 must be >= 1, "
            "got 0");
}

TEST_F(DeliveryCheckTest, RefusesAChunkVersionOutsideTheHeaders) {
  EXPECT_EQ(Check(Good(),
                  [](RecordWriter& writer) {
                    writer.scalar<int64_t>(JobColumn(column::kBehaviorVersion),
                                           1) = 3;
                  }),
            "corrupt: record: column \"behavior_version\": chunk 1 must be 6 "
            "to 6, got 3");
}

TEST_F(DeliveryCheckTest, RefusesMoreThanTheCreditIsLeaveFor) {
  JobRecord record = Good();
  record.chunks = 5;
  EXPECT_EQ(Check({JobFrame(record), JobFrame(Good())}),
            "corrupt: delivery: a credit is leave for at most 8 chunks, got 9");
  record.chunks = 1;
  EXPECT_EQ(Check({JobFrame(record), JobFrame(record), JobFrame(record),
                   JobFrame(record)}),
            "corrupt: delivery: one credit may bring at most 3 records, got 4");
}

TEST_F(DeliveryCheckTest, ADemonstrationIsOneWholeEpisode) {
  Credit credit = kCredit;
  credit.kind = CreditKind::kDemonstration;
  JobRecord whole = Good();
  whole.chunks = 50;  // Longer than an unroll.
  whole.version = 0;
  whole.terminated = true;
  EXPECT_EQ(Check({JobFrame(whole)}, Expected(credit)), "");
  EXPECT_EQ(Check({JobFrame(whole), JobFrame(whole)}, Expected(credit)),
            "corrupt: delivery: a demonstration must be one record, got 2");
  JobRecord part = whole;
  part.terminated = false;
  EXPECT_EQ(Check({JobFrame(part)}, Expected(credit)),
            "corrupt: delivery: a demonstration must be one whole episode, got "
            "50 steps from step 0");
  part = whole;
  part.first_step = 5;
  EXPECT_EQ(Check({JobFrame(part)}, Expected(credit)),
            "corrupt: delivery: a demonstration must be one whole episode, got "
            "50 steps from step 5");
}

TEST_F(DeliveryCheckTest, ReadsRecordsThatLieAnywhereInMemory) {
  const MessageFrame good = JobFrame(Good());
  auto shifted = std::make_shared<std::vector<std::byte>>(good.size() + 1);
  std::memcpy(shifted->data() + 1, good.bytes().data(), good.size());
  EXPECT_EQ(Check({MessageFrame(shifted,
                                std::span(*shifted).subspan(1, good.size()))}),
            "");
}

TEST(RecordCheckTest, ServesAnySchema) {
  const TrajectorySchema schema = {
      {{"reward", ElementKind::kFloat64, {3}, Granularity::kTrajectory},
       {"terminated", ElementKind::kFloat32, {}, Granularity::kFinal}}};
  const DeliveryCheck check(schema, {});
  RecordWriter writer(schema, 2, 2);
  writer.Begin();
  const MessageFrame frame(writer.Finish({.worker = 2,
                                          .incarnation = 8,
                                          .credit = 9,
                                          .deadline = 7,
                                          .environment = 3,
                                          .num_steps = 2,
                                          .num_chunks = 1,
                                          .behavior_version_min = 6,
                                          .behavior_version_max = 6}));
  EXPECT_TRUE(std::holds_alternative<std::vector<StoredRecord>>(
      check.Check(std::vector<MessageFrame>{frame}, Expected())));
}

}  // namespace
}  // namespace flywheel
