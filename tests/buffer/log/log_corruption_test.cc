// Every byte of a small log changed, every length cut: opening never fails for
// it, nothing appears that was not written, nothing before the damage is lost.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/buffer/log/fake_disk.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr uint64_t kSegment = 4096;

struct SmallSegment {
  std::string name;
  // Offset behind each entry, by id.
  std::map<uint64_t, uint64_t> ends;
};

RecordLogOptions Options(const TempFolder& folder, FakeDisk& disk) {
  RecordLogOptions options = SmallLog(folder / "log", &disk);
  options.segment_bytes = kSegment;
  return options;
}

// Two sealed segments and an open one, with entries of many sizes.
std::map<uint64_t, uint64_t> Fill(const TempFolder& folder, FakeDisk& disk) {
  const auto log = MustOpen(Options(folder, disk));
  for (uint64_t seed = 1; log->Use().segments < 3 || seed % 4 != 0; ++seed) {
    EXPECT_TRUE(AppendSeeded(*log, seed, seed * 41 % 300).ok());
  }
  return SeedsById(*log);
}

std::map<std::string, SmallSegment> SegmentsOf(const TempFolder& folder,
                                               FakeDisk& disk) {
  const auto log = MustOpen(Options(folder, disk));
  std::map<std::string, SmallSegment> segments;
  log->ForEach([&](const EntryInfo& info) {
    const LogPosition position = *log->Position(info.id);
    SmallSegment& segment = segments[SegmentName(position.segment)];
    segment.name = SegmentName(position.segment);
    segment.ends[info.id.value] = position.offset + position.bytes;
  });
  return segments;
}

// Opens what is left; fails the test unless all that is found was written, and
// everything is found but what `may_be_lost`.
void ExpectAllBut(const std::string& folder, FakeDisk& disk,
                  const std::map<uint64_t, uint64_t>& written,
                  const std::function<bool(uint64_t id)>& may_be_lost,
                  const std::string& what) {
  SCOPED_TRACE(what);
  RecordLogOptions options = SmallLog(folder, &disk);
  options.segment_bytes = kSegment;
  const auto log = MustOpen(options);
  ASSERT_NE(log, nullptr);
  std::map<uint64_t, uint64_t> found;
  log->ForEach([&](const EntryInfo& info) {
    const absl::StatusOr<LogEntry> entry = log->Read(info.id);
    if (!entry.ok()) {  // Known to be damaged: that is an answer, too.
      EXPECT_TRUE(may_be_lost(info.id.value)) << entry.status();
      return;
    }
    EXPECT_TRUE(IsSeeded(*entry)) << info.id.value;
    found[info.id.value] = info.key.words[0];
  });
  for (const auto& [id, seed] : written) {
    if (!found.contains(id)) {
      EXPECT_TRUE(may_be_lost(id)) << "lost " << id;
    }
  }
  for (const auto& [id, seed] : found) {
    EXPECT_TRUE(written.contains(id) && written.at(id) == seed) << id;
  }
  const absl::StatusOr<EntryId> next = AppendSeeded(*log, 7, 200);
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_FALSE(found.contains(next->value));
}

TEST(LogCorruptionTest, AChangedByteCostsAtMostTheEntryItLiesIn) {
  TempFolder folder;
  FakeDisk original;
  const auto written = Fill(folder, original);
  const auto segments = SegmentsOf(folder, original);
  ASSERT_EQ(segments.size(), 3u);
  for (const auto& named : segments) {
    const auto& name = named.first;  // Clang 14 captures no bindings.
    const auto& segment = named.second;
    const bool newest = name == segments.rbegin()->first;
    const std::vector<std::byte> bytes = original.Bytes(name);
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      for (const int change : {1 << at % 8, 0xff}) {
        std::vector<std::byte> changed = bytes;
        changed[at] ^= static_cast<std::byte>(change);
        const auto disk = original.Copy();
        disk->SetBytes(name, changed);
        ExpectAllBut(
            folder / "log", *disk, written,
            [&](uint64_t id) {
              const auto entry = segment.ends.find(id);
              if (entry == segment.ends.end()) return false;
              const uint64_t begin =
                  entry == segment.ends.begin()
                      ? kEntriesBegin
                      : RoundUp(std::prev(entry)->second, kEntryAlignment);
              const bool hit = at >= begin && at < entry->second;
              // Behind damage in the newest segment the log is cut.
              return hit || (newest && at < entry->second);
            },
            absl::StrCat(name, " byte ", at, " changed by ", change));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(LogCorruptionTest, AHeaderOrFooterChangedAnywhereCostsNothing) {
  TempFolder folder;
  FakeDisk original;
  const auto written = Fill(folder, original);
  const std::vector<std::string> names = *original.List();
  for (const std::string& name : names) {
    const std::vector<std::byte> bytes = original.Bytes(name);
    for (std::size_t at = 0; at < 64; ++at) {
      std::vector<std::byte> changed = bytes;
      changed[at] ^= std::byte{0x10};
      changed[bytes.size() - 1 - at] ^= std::byte{0x10};
      const auto disk = original.Copy();
      disk->SetBytes(name, changed);
      ExpectAllBut(
          folder / "log", *disk, written, [](uint64_t) { return false; },
          absl::StrCat(name, " byte ", at));
    }
  }
}

TEST(LogCorruptionTest, ACutCostsOnlyWhatLayBehindIt) {
  TempFolder folder;
  FakeDisk original;
  const auto written = Fill(folder, original);
  const auto segments = SegmentsOf(folder, original);
  for (const auto& named : segments) {
    const auto& name = named.first;  // Clang 14 captures no bindings.
    const auto& segment = named.second;
    const std::vector<std::byte> bytes = original.Bytes(name);
    for (std::size_t length = 0; length < bytes.size(); ++length) {
      const auto disk = original.Copy();
      disk->SetBytes(name, {bytes.begin(), bytes.begin() + length});
      ExpectAllBut(
          folder / "log", *disk, written,
          [&](uint64_t id) {
            const auto entry = segment.ends.find(id);
            return entry != segment.ends.end() && entry->second > length;
          },
          absl::StrCat(name, " cut to ", length));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(LogCorruptionTest, SeveralRandomChangesNeverInventAnEntry) {
  TempFolder folder;
  FakeDisk original;
  const auto written = Fill(folder, original);
  const std::vector<std::string> names = *original.List();
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    const auto disk = original.Copy();
    for (uint64_t changes = 1 + random() % 20; changes > 0; --changes) {
      const std::string& name = names[random() % names.size()];
      std::vector<std::byte> bytes = disk->Bytes(name);
      const std::size_t at = random() % bytes.size();
      const std::size_t length =
          std::min<std::size_t>(1 + random() % 200, bytes.size() - at);
      for (std::size_t i = 0; i < length; ++i) {
        bytes[at + i] = static_cast<std::byte>(random());
      }
      disk->SetBytes(name, bytes);
    }
    ExpectAllBut(
        folder / "log", *disk, written, [](uint64_t) { return true; },
        absl::StrCat("seed ", seed));
  }
}

TEST(LogCorruptionTest, OneSegmentInPlaceOfAnotherIsNotBelieved) {
  TempFolder folder;
  FakeDisk disk;
  const auto written = Fill(folder, disk);
  const auto segments = SegmentsOf(folder, disk);
  const std::string first = segments.begin()->first;
  disk.SetBytes(first, disk.Bytes(std::next(segments.begin())->first));
  ExpectAllBut(
      folder / "log", disk, written,
      [&](uint64_t id) { return segments.begin()->second.ends.contains(id); },
      "swapped");
}

TEST(LogCorruptionTest, APayloadThatHoldsASegmentIsNotTakenForEntries) {
  TempFolder folder;
  FakeDisk inner;
  Fill(folder, inner);
  FakeDisk disk;
  {
    const auto log = MustOpen(Options(folder, disk));
    ASSERT_TRUE(Append(*log, inner.Bytes(SegmentName(1))).ok());
    ASSERT_TRUE(Append(*log, inner.Bytes(SegmentName(2))).ok());
  }
  const std::string name = SegmentName(1);
  std::vector<std::byte> bytes = disk.Bytes(name);
  bytes[kEntriesBegin + 8] ^= std::byte{1};  // The entry's header.
  bytes[bytes.size() - 70] ^= std::byte{1};  // The footer.
  disk.SetBytes(name, bytes);
  const auto log = MustOpen(Options(folder, disk));
  int listed = 0;
  log->ForEach([&](const EntryInfo&) { ++listed; });
  EXPECT_EQ(listed, 1);
  EXPECT_THAT(log->recovery().messages, Contains(HasSubstr("passed over")));
  EXPECT_THAT(log->recovery().messages,
              Contains(HasSubstr("entries 1 to 1 that stood at its end are "
                                 "lost")));
}

TEST(LogCorruptionTest, ATornTailIsCutOnceAndSaidWhere) {
  TempFolder folder;
  FakeDisk disk;
  const auto written = Fill(folder, disk);
  const auto segments = SegmentsOf(folder, disk);
  const SmallSegment& newest = segments.rbegin()->second;
  std::vector<std::byte> bytes = disk.Bytes(newest.name);
  bytes[newest.ends.rbegin()->second - 1] ^= std::byte{1};
  disk.SetBytes(newest.name, bytes);
  {
    const auto log = MustOpen(Options(folder, disk));
    EXPECT_EQ(log->recovery().entries, written.size() - 1);
    EXPECT_THAT(log->recovery().messages,
                Contains(HasSubstr(absl::StrCat(
                    newest.name, ": cut at ",
                    RoundUp(std::next(newest.ends.rbegin())->second, 64),
                    " behind entry ", written.size() - 1))));
  }
  const auto log = MustOpen(Options(folder, disk));
  EXPECT_TRUE(log->recovery().messages.empty());
  EXPECT_EQ(log->recovery().entries, written.size() - 1);
}

}  // namespace
}  // namespace flywheel
