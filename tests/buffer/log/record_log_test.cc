#include "services/buffer/log/record_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/buffer/log/fake_disk.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string MessageOf(const absl::Status& status) {
  return std::string(status.message());
}

TEST(RecordLogTest, ReturnsWhatWasAppendedBitForBit) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  const std::vector<std::byte> front = BytesOfText("front ");
  const std::vector<std::byte> back = BytesOfText("and back");
  const std::span<const std::byte> pieces[] = {front, {}, back};
  const absl::StatusOr<EntryId> id =
      log->Append({.kind = 7, .key = {{1, 2, 3, 4}}, .payload = pieces});
  ASSERT_TRUE(id.ok()) << id.status();

  const absl::StatusOr<LogEntry> entry = log->Read(*id);
  ASSERT_TRUE(entry.ok()) << entry.status();
  EXPECT_EQ(entry->info.kind, 7);
  EXPECT_EQ(entry->info.key, (EntryKey{{1, 2, 3, 4}}));
  EXPECT_EQ(BytesRead(*log, *id), BytesOfText("front and back"));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(entry->payload.data()) % 64, 0u);
}

TEST(RecordLogTest, KeepsEntriesOfAllSizesOverSeveralSegmentsAndARestart) {
  TempFolder folder;
  std::map<uint64_t, uint64_t> seeds;
  {
    const auto log = MustOpen(SmallLog(folder / "log"));
    for (uint64_t seed = 1; seed <= 200; ++seed) {
      const std::size_t bytes = seed % 50 == 0 ? 100'000 : seed * 37 % 1000;
      const absl::StatusOr<EntryId> id = AppendSeeded(*log, seed, bytes);
      ASSERT_TRUE(id.ok()) << id.status();
      seeds[id->value] = seed;
    }
    EXPECT_EQ(SeedsById(*log), seeds);
    EXPECT_GT(log->Use().segments, 10u);
  }
  const auto log = MustOpen(SmallLog(folder / "log"));
  EXPECT_EQ(SeedsById(*log), seeds);
  EXPECT_THAT(log->recovery().messages, IsEmpty());
  EXPECT_EQ(log->recovery().entries, 200u);
  EXPECT_EQ(log->recovery().segments_scanned, 1u);
  EXPECT_EQ(AppendSeeded(*log, 201, 10)->value, 201u);
}

TEST(RecordLogTest, AppendsManyEntriesAtOnceWithIdsInARow) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  std::vector<std::vector<std::byte>> payloads;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    payloads.push_back(PayloadOf(seed, seed * 13 % 700));
  }
  std::vector<std::span<const std::byte>> pieces(payloads.begin(),
                                                 payloads.end());
  std::vector<NewEntry> entries;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    entries.push_back({.kind = static_cast<uint16_t>(seed),
                       .key = {{seed, payloads[seed].size()}},
                       .payload = {&pieces[seed], 1}});
  }
  const RecordLog::Appended appended = log->Append(entries);
  EXPECT_TRUE(appended.status.ok()) << appended.status;
  EXPECT_EQ(appended.count, 300u);
  EXPECT_EQ(appended.first.value, 1u);
  EXPECT_EQ(SeedsById(*log).size(), 300u);
}

TEST(RecordLogTest, ADeadEntryIsNotFoundAndNotListed) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  const EntryId first = *AppendSeeded(*log, 1, 100);
  const EntryId second = *AppendSeeded(*log, 2, 100);
  log->MarkDead(first);
  log->MarkDead(first);
  log->MarkDead(EntryId{99});
  EXPECT_TRUE(absl::IsNotFound(log->Read(first).status()));
  EXPECT_THAT(SeedsById(*log), ElementsAre(std::pair(second.value, 2)));
}

TEST(RecordLogTest, ASpanStaysReadableAfterItsEntryItsSegmentAndTheLogAreGone) {
  TempFolder folder;
  auto log = MustOpen(SmallLog(folder / "log"));
  std::vector<EntryId> ids;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    ids.push_back(*AppendSeeded(*log, seed, 1000));
  }
  const LogEntry held = *log->Read(ids[3]);
  log->MarkDead(ids);
  while (*log->Compact()) {
  }
  EXPECT_EQ(log->Use().segments, 1u);
  EXPECT_GT(log->Use().held_bytes, 0u);
  log.reset();
  EXPECT_TRUE(IsSeeded(held));
}

TEST(RecordLogTest, ASecondWriterIsRefusedAndToldWhoHasTheFolder) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  const absl::Status second =
      RecordLog::Open(SmallLog(folder / "log")).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
  EXPECT_THAT(MessageOf(second), HasSubstr(absl::StrCat("process ", getpid())));
}

TEST(RecordLogTest, OptionsOutOfRangeAreNamed) {
  TempFolder folder;
  RecordLogOptions odd = SmallLog(folder / "log");
  odd.segment_bytes = 5000;
  EXPECT_THAT(MessageOf(RecordLog::Open(odd).status()),
              HasSubstr("segment_bytes must be a multiple of 4096"));
  RecordLogOptions tight = SmallLog(folder / "log");
  tight.disk_bytes_max = tight.segment_bytes;
  EXPECT_THAT(MessageOf(RecordLog::Open(tight).status()),
              HasSubstr("disk_bytes_max"));
  EXPECT_TRUE(absl::IsInvalidArgument(RecordLog::Open({}).status()));
}

TEST(RecordLogTest, APayloadOverTheLimitIsRefusedAlone) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.entry_bytes_max = 1000;
  const auto log = MustOpen(options);
  EXPECT_TRUE(absl::IsInvalidArgument(AppendSeeded(*log, 1, 1001).status()));
  EXPECT_TRUE(AppendSeeded(*log, 2, 1000).ok());
}

TEST(RecordLogTest, MemoryIsGoneAfterARestartWhichSaysSo) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.durability = Durability::kMemory;
  {
    const auto log = MustOpen(options);
    ASSERT_TRUE(AppendSeeded(*log, 1, 7000).ok());
    ASSERT_TRUE(AppendSeeded(*log, 2, 7000).ok());
    EXPECT_EQ(SeedsById(*log).size(), 2u);
  }
  const auto log = MustOpen(options);
  EXPECT_THAT(SeedsById(*log), IsEmpty());
  EXPECT_EQ(log->recovery().memory_segments, 2u);
  EXPECT_THAT(log->recovery().messages,
              ElementsAre(HasSubstr("durability was memory")));
}

TEST(RecordLogTest, MemoryNeverRemovesDurableEntries) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  { ASSERT_TRUE(AppendSeeded(*MustOpen(options), 1, 100).ok()); }
  options.durability = Durability::kMemory;
  EXPECT_TRUE(absl::IsFailedPrecondition(RecordLog::Open(options).status()));
  options.durability = Durability::kDisk;
  EXPECT_EQ(SeedsById(*MustOpen(options)).size(), 1u);
}

TEST(RecordLogTest, OneSyncMakesManyEntriesDurable) {
  TempFolder folder;
  FakeDisk disk;
  RecordLogOptions options = SmallLog(folder / "log", &disk);
  options.durability = Durability::kDisk;
  std::vector<uint64_t> announced;
  options.on_durable = [&](EntryId id) { announced.push_back(id.value); };
  const auto log = MustOpen(options);
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    ASSERT_TRUE(AppendSeeded(*log, seed, 50).ok());
  }
  EXPECT_EQ(log->Use().durable.value, 0u);
  const int before = disk.num_syncs();
  ASSERT_TRUE(log->WaitDurable({5}).ok());
  EXPECT_EQ(disk.num_syncs(), before + 2);  // The file and the folder.
  EXPECT_EQ(log->Use().durable.value, 20u);
  EXPECT_THAT(announced, ElementsAre(20u));
}

TEST(RecordLogTest, NothingIsDurableAfterAFailedSyncAndReadersAreServed) {
  TempFolder folder;
  FakeDisk disk;
  RecordLogOptions options = SmallLog(folder / "log", &disk);
  options.durability = Durability::kDisk;
  const auto log = MustOpen(options);
  const EntryId durable = *AppendSeeded(*log, 1, 50);
  ASSERT_TRUE(log->WaitDurable(durable).ok());
  const EntryId id = *AppendSeeded(*log, 2, 50);
  disk.FailSyncs(true);
  EXPECT_FALSE(log->WaitDurable(id).ok());
  disk.FailSyncs(false);
  EXPECT_FALSE(log->WaitDurable(id).ok());
  const absl::Status refused = AppendSeeded(*log, 3, 50).status();
  EXPECT_THAT(MessageOf(refused), HasSubstr("none after entry 1"));
  EXPECT_EQ(SeedsById(*log).size(), 2u);
  EXPECT_EQ(log->Use().durable, durable);
}

TEST(RecordLogTest, BackgroundThreadsAnnounceWhatIsDurable) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.durability = Durability::kDisk;
  options.background = true;
  const auto log = MustOpen(options);
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const absl::StatusOr<EntryId> id = AppendSeeded(*log, seed, 500);
    ASSERT_TRUE(id.ok());
    if (seed % 10 == 0) {
      ASSERT_TRUE(log->WaitDurable(*id).ok());
    }
  }
  EXPECT_GE(log->Use().durable.value, 50u);
}

TEST(RecordLogTest, APositionLeadsAnotherReaderToThePayload) {
  TempFolder folder;
  const auto log = MustOpen(SmallLog(folder / "log"));
  const EntryId id = *AppendSeeded(*log, 5, 300);
  const absl::StatusOr<LogPosition> position = log->Position(id);
  ASSERT_TRUE(position.ok());
  EXPECT_EQ(position->offset % 64, 0u);

  std::ifstream file(log->SegmentPath(position->segment), std::ios::binary);
  uint64_t token = 0;
  file.seekg(kSegmentTokenOffset);
  file.read(reinterpret_cast<char*>(&token), sizeof(token));
  EXPECT_EQ(token, position->token);
  std::vector<std::byte> payload(position->bytes);
  file.seekg(static_cast<std::streamoff>(position->offset));
  file.read(reinterpret_cast<char*>(payload.data()), 300);
  EXPECT_EQ(payload, PayloadOf(5, 300));
}

TEST(RecordLogTest, AFailedWriteLeavesNoEntryAndTheLogUsable) {
  TempFolder folder;
  FakeDisk disk;
  for (uint64_t part = 0; part < 400; part += 8) {
    auto files = disk.Copy();
    const auto log = MustOpen(SmallLog(folder / "log", files.get()));
    ASSERT_TRUE(AppendSeeded(*log, 1, 100).ok());
    files->FailNextWriteAfter(part);
    ASSERT_TRUE(absl::IsResourceExhausted(AppendSeeded(*log, 2, 200).status()));
    const auto killed = files->Copy();
    ASSERT_TRUE(AppendSeeded(*log, 3, 50).ok());
    ASSERT_EQ(SeedsById(*log).size(), 2u);

    const auto other_folder = folder / "other";
    const auto reopened = MustOpen(SmallLog(other_folder, killed.get()));
    EXPECT_THAT(SeedsById(*reopened), ElementsAre(std::pair(1, 1)));
  }
}

TEST(RecordLogTest, AFailedBatchSaysHowManyEntriesItKept) {
  TempFolder folder;
  FakeDisk disk;
  const auto log = MustOpen(SmallLog(folder / "log", &disk));
  const std::vector<std::byte> payload = PayloadOf(1, 3000);
  const std::span<const std::byte> piece(payload);
  const std::vector<NewEntry> entries(
      6, NewEntry{.kind = 1, .key = {{1, 3000}}, .payload = {&piece, 1}});
  disk.SetRoom(3 * 8192);  // Two entries a segment; one is kept free.
  const RecordLog::Appended appended = log->Append(entries);
  EXPECT_EQ(appended.count, 4u);
  EXPECT_TRUE(absl::IsResourceExhausted(appended.status));
  EXPECT_EQ(SeedsById(*log).size(), 4u);
}

TEST(RecordLogTest, IdsAreNotGivenTwiceWhenAllEntriesAreGone) {
  TempFolder folder;
  uint64_t last = 0;
  {
    const auto log = MustOpen(SmallLog(folder / "log"));
    std::vector<EntryId> ids;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      ids.push_back(*AppendSeeded(*log, seed, 900));
    }
    log->MarkDead(ids);
    while (*log->Compact()) {
    }
    last = ids.back().value;
  }
  const auto log = MustOpen(SmallLog(folder / "log"));
  EXPECT_GT(AppendSeeded(*log, 1, 10)->value, last);
}

}  // namespace
}  // namespace flywheel
