#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "services/buffer/log/compaction_policy.h"
#include "services/buffer/log/failpoints.h"
#include "tests/buffer/log/fake_disk.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kSegment = 1 << 20;

TEST(CompactionPolicyTest, LeavesSegmentsAloneThatAreHalfAlive) {
  EXPECT_THAT(ChooseForCompaction({}, kSegment), IsEmpty());
  const SegmentUse half = {1, kSegment, kSegment / 2};
  EXPECT_THAT(ChooseForCompaction({&half, 1}, kSegment), IsEmpty());
}

TEST(CompactionPolicyTest, TakesWhollyDeadSegmentsFirst) {
  const SegmentUse uses[] = {
      {1, kSegment, 0}, {2, kSegment, 1000}, {3, kSegment, 0}};
  EXPECT_THAT(ChooseForCompaction(uses, kSegment), ElementsAre(1, 3));
}

TEST(CompactionPolicyTest, JoinsSparseSegmentsAsFarAsOneCanHoldThem) {
  const SegmentUse uses[] = {{1, kSegment, kSegment * 4 / 10},
                             {2, kSegment, kSegment * 3 / 10},
                             {3, kSegment, kSegment * 2 / 10},
                             {4, kSegment, kSegment * 9 / 10}};
  EXPECT_THAT(ChooseForCompaction(uses, kSegment), ElementsAre(3, 2, 1));
  EXPECT_THAT(ChooseForCompaction(std::span(uses).first(2), kSegment),
              ElementsAre(2, 1));
}

TEST(CompactionPolicyTest, LeavesAloneWhatCannotBecomeSmaller) {
  const SegmentUse page = {1, 4096, 500};
  EXPECT_THAT(ChooseForCompaction({&page, 1}, kSegment), IsEmpty());
}

TEST(CompactionPolicyTest, JoinsSmallSegmentsOnceThereAreMany) {
  std::vector<SegmentUse> uses;
  for (uint32_t number = 1; number <= kSmallSegmentsMax; ++number) {
    uses.push_back({number, 8192, 6000});
  }
  EXPECT_THAT(ChooseForCompaction(uses, kSegment), IsEmpty());
  uses.push_back({99, 8192, 6000});
  EXPECT_EQ(ChooseForCompaction(uses, kSegment).size(), uses.size());
}

// Entries of 600 bytes, of which every tenth stays alive.
std::map<uint64_t, uint64_t> FillAndThin(RecordLog& log, uint64_t count = 100) {
  std::map<uint64_t, uint64_t> kept;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const EntryId id = *AppendSeeded(log, seed, 600);
    if (seed % 10 == 0) {
      kept[id.value] = seed;
    } else {
      log.MarkDead(id);
    }
  }
  return kept;
}

TEST(LogCompactionTest, EntriesKeepTheirIdsAndBytesAndTheFilesShrink) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.segment_bytes = 64 << 10;
  const auto log = MustOpen(options);
  const auto kept = FillAndThin(*log, 2000);
  while (*log->Compact()) {
  }
  EXPECT_EQ(SeedsById(*log), kept);
  ExpectWithinSpaceBound(*log, options.segment_bytes);
  EXPECT_LE(log->Use().segments, kSmallSegmentsMax + 1);
  EXPECT_EQ(log->Use().lost_entries, 0u);
}

TEST(LogCompactionTest, ARestartFindsMovedEntriesOnceEach) {
  TempFolder folder;
  std::map<uint64_t, uint64_t> kept;
  {
    const auto log = MustOpen(SmallLog(folder / "log"));
    kept = FillAndThin(*log);
    while (*log->Compact()) {
    }
  }
  const auto log = MustOpen(SmallLog(folder / "log"));
  std::map<uint64_t, uint64_t> found = SeedsById(*log);
  std::erase_if(found, [](const auto& e) { return e.second % 10 != 0; });
  EXPECT_EQ(found, kept);
  EXPECT_THAT(log->recovery().messages, IsEmpty());
}

TEST(LogCompactionTest, AppendingKeepsTheSpaceBoundByItself) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    const EntryId id = *AppendSeeded(*log, seed, 300 + seed % 500);
    if (seed % 16 != 0) log->MarkDead(id);
    ExpectWithinSpaceBound(*log, 8192);
  }
  EXPECT_EQ(SeedsById(*log).size(), 125u);
}

TEST(LogCompactionTest, ReadersHoldOldSpansWhileTheirEntriesMove) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  std::vector<LogEntry> held;
  std::vector<EntryId> ids;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    ids.push_back(*AppendSeeded(*log, seed, 600));
    held.push_back(*log->Read(ids.back()));
  }
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (i % 10 != 0) log->MarkDead(ids[i]);
  }
  while (*log->Compact()) {
  }
  for (const LogEntry& entry : held) EXPECT_TRUE(IsSeeded(entry));
  EXPECT_NE(log->Read(ids[0])->payload.data(), held[0].payload.data());
  EXPECT_GT(log->Use().held_bytes, 0u);
  held.clear();
  EXPECT_EQ(log->Use().held_bytes, 0u);
}

TEST(LogCompactionTest, AnEntryThatDiesWhileItMovesIsDead) {
  for (const char* const failpoint :
       {"compact.after_create", "compact.after_copy", "compact.after_folder",
        "compact.after_move"}) {
    TempFolder folder;
    const auto log = MustOpen(SmallLog(folder / "log"));
    auto kept = FillAndThin(*log);
    const uint64_t dies = kept.begin()->first;
    ArmFailpoint(failpoint, 1, [&] { log->MarkDead(EntryId{dies}); });
    while (*log->Compact()) {
    }
    kept.erase(dies);
    EXPECT_EQ(SeedsById(*log), kept) << failpoint;
    ExpectWithinSpaceBound(*log, 8192);
  }
}

TEST(LogCompactionTest, ListingSeesEachEntryOnceWhileTheyMove) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  const auto kept = FillAndThin(*log);
  std::map<uint64_t, uint64_t> seen;
  log->ForEach([&](const EntryInfo& info) {
    if (seen.empty()) {
      while (*log->Compact()) {
      }
    }
    EXPECT_TRUE(seen.emplace(info.id.value, info.key.words[0]).second);
  });
  EXPECT_EQ(seen, kept);
}

TEST(LogCompactionTest, ADamagedEntryIsReportedAndTheOthersMove) {
  TempFolder folder;
  FakeDisk disk;
  std::vector<std::string> notices;
  RecordLogOptions options = SmallLog(folder / "log", &disk);
  options.on_notice = [&](const std::string& text) { notices.push_back(text); };
  {
    const auto log = MustOpen(options);
    for (uint64_t seed = 0; seed < 100; ++seed) {
      ASSERT_TRUE(AppendSeeded(*log, seed, 600).ok());
    }
  }
  const std::string name = SegmentName(1);
  std::vector<std::byte> bytes = disk.Bytes(name);
  bytes[kEntriesBegin + 64 + 10] ^= std::byte{1};  // In the payload of entry 1.
  disk.SetBytes(name, bytes);

  const auto log = MustOpen(options);
  EXPECT_TRUE(absl::IsDataLoss(log->Read({1}).status()));
  for (uint64_t id = 2; id <= 100; ++id) {
    if (id % 10 != 0) log->MarkDead(EntryId{id});
  }
  while (*log->Compact()) {
  }
  EXPECT_EQ(SeedsById(*log).size(), 10u);
  EXPECT_EQ(log->Use().lost_entries, 1u);
  EXPECT_THAT(notices, ElementsAre(HasSubstr("entry 1 of 000000000001.segment "
                                             "is lost")));
}

TEST(LogCompactionTest, WithoutRoomNothingIsLostAndItSucceedsLater) {
  TempFolder folder;
  FakeDisk disk;
  const auto log = MustOpen(SmallLog(folder / "log", &disk));
  const auto kept = FillAndThin(*log);
  disk.SetRoom(0);
  absl::StatusOr<bool> compacted = log->Compact();
  while (compacted.ok() && *compacted) compacted = log->Compact();
  EXPECT_TRUE(absl::IsResourceExhausted(compacted.status()))
      << compacted.status();
  EXPECT_EQ(SeedsById(*log), kept);
  disk.SetRoom(std::nullopt);
  while (*log->Compact()) {
  }
  EXPECT_EQ(SeedsById(*log), kept);
  ExpectWithinSpaceBound(*log, 8192);
}

}  // namespace
}  // namespace flywheel
