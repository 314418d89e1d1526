// One thread appends, others read, mark dead and list, while the log syncs and
// compacts in its own. For ThreadSanitizer.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

constexpr uint64_t kEntries = 3000;
constexpr uint64_t kKept = 200;

void RunThreads(Durability durability) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.background = true;
  options.durability = durability;
  options.segment_bytes = 32 << 10;
  options.sync_interval = absl::Milliseconds(1);
  std::atomic<uint64_t> announced = 0;
  options.on_durable = [&](EntryId id) { announced = id.value; };
  const auto log = MustOpen(options);
  std::atomic<uint64_t> newest = 0;

  std::jthread appender([&] {
    for (uint64_t seed = 1; seed <= kEntries; ++seed) {
      const absl::StatusOr<EntryId> id =
          AppendSeeded(*log, seed, seed * 31 % 700);
      ASSERT_TRUE(id.ok()) << id.status();
      if (seed % 100 == 0) {
        ASSERT_TRUE(log->WaitDurable(*id).ok());
      }
      // Some die at once, so that there is always something to compact.
      if (seed > kKept && seed % 9 != 0) log->MarkDead(EntryId{seed - kKept});
      newest = id->value;
    }
  });
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      std::mt19937_64 random(reader);
      while (newest < kEntries) {
        const uint64_t last = newest;
        if (last == 0) continue;
        const EntryId id{last - random() % std::min(last, kKept / 2)};
        const absl::StatusOr<LogEntry> entry = log->Read(id);
        if (!entry.ok() && newest + 1 >= id.value + kKept) {
          continue;  // It died while this thread had to wait for its turn.
        }
        ASSERT_TRUE(entry.ok()) << entry.status();
        ASSERT_TRUE(IsSeeded(*entry));
      }
    });
  }
  std::jthread lister([&] {
    while (newest < kEntries) {
      uint64_t previous = 0;
      log->ForEach([&](const EntryInfo& info) {
        ASSERT_GT(info.id.value, previous);
        previous = info.id.value;
      });
      log->Use();
    }
  });
  appender.join();
  readers.clear();
  lister.join();
  EXPECT_EQ(SeedsById(*log).size(), log->Use().live_entries);
}

TEST(LogThreadsTest, ReadersSeeWhatWasAppendedWhileItMovesAndIsSynced) {
  RunThreads(Durability::kProcess);
}

TEST(LogThreadsTest, ReadersSeeWhatWasAppendedUnderGroupCommit) {
  RunThreads(Durability::kDisk);
}

TEST(LogThreadsTest, ManyAppendersShareTheLog) {
  TempFolder folder;
  RecordLogOptions options = SmallLog(folder / "log");
  options.background = true;
  options.durability = Durability::kDisk;
  const auto log = MustOpen(options);
  std::vector<std::jthread> appenders;
  for (uint64_t thread = 0; thread < 4; ++thread) {
    appenders.emplace_back([&, thread] {
      for (uint64_t i = 0; i < 50; ++i) {
        const absl::StatusOr<EntryId> id =
            AppendSeeded(*log, thread << 32 | i, 300);
        ASSERT_TRUE(id.ok());
        ASSERT_TRUE(log->WaitDurable(*id).ok());
      }
    });
  }
  appenders.clear();
  EXPECT_EQ(SeedsById(*log).size(), 200u);
}

}  // namespace
}  // namespace flywheel
