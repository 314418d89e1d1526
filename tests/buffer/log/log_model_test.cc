// Random operations beside a map that says what must be there.
// FLYWHEEL_LOG_MODEL_STEPS sets how many, FLYWHEEL_LOG_SEED the first seed.

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/buffer/log/fake_disk.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

constexpr uint64_t kSegment = 16 << 10;

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class LogAndModel {
 public:
  explicit LogAndModel(uint64_t seed) : random_(seed) { Reopen(); }

  void Step() {
    const uint64_t dice = random_() % 1000;
    if (dice < 600) {
      AppendSome(dice % 3 == 0 ? 1 + random_() % 20 : 1);
    } else if (dice < 900) {
      for (uint64_t n = random_() % 4; n > 0; --n) KillOne();
    } else if (dice < 980) {
      ReadOne();
    } else if (dice < 990) {
      EXPECT_TRUE(log_->Compact().ok());
    } else if (dice < 995) {
      FailAnAppend();
    } else {
      Reopen();
      CheckAll();
    }
    ExpectWithinSpaceBound(*log_, kSegment);
  }

  void CheckAll() {
    const std::map<uint64_t, uint64_t> found = SeedsById(*log_);
    EXPECT_EQ(found, alive_);
    EXPECT_EQ(log_->Use().live_entries, alive_.size());
  }

 private:
  void AppendSome(std::size_t count) {
    std::vector<std::vector<std::byte>> payloads;
    std::vector<std::span<const std::byte>> pieces;
    std::vector<NewEntry> entries(count);
    for (NewEntry& entry : entries) {
      const uint64_t seed = ++seeds_;
      payloads.push_back(
          PayloadOf(seed, random_() % 100 == 0 ? 40'000 : random_() % 1000));
      entry.kind = static_cast<uint16_t>(seed);
      entry.key = {{seed, payloads.back().size()}};
    }
    pieces.assign(payloads.begin(), payloads.end());
    for (std::size_t i = 0; i < count; ++i)
      entries[i].payload = {&pieces[i], 1};
    const RecordLog::Appended appended = log_->Append(entries);
    ASSERT_TRUE(appended.status.ok()) << appended.status;
    for (std::size_t i = 0; i < count; ++i) {
      alive_[appended.first.value + i] = entries[i].key.words[0];
    }
  }

  void KillOne() {
    const auto entry = Any();
    if (entry == alive_.end()) return;
    log_->MarkDead(EntryId{entry->first});
    dead_.push_back({entry->first});
    alive_.erase(entry);
  }

  void ReadOne() {
    const auto entry = Any();
    if (entry != alive_.end()) {
      const absl::StatusOr<LogEntry> read = log_->Read({entry->first});
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_TRUE(IsSeeded(*read));
      EXPECT_EQ(read->info.key.words[0], entry->second);
    }
    if (!dead_.empty()) {
      const EntryId id = dead_[random_() % dead_.size()];
      EXPECT_TRUE(absl::IsNotFound(log_->Read(id).status()));
    }
  }

  void FailAnAppend() {
    disk_.FailNextWriteAfter(random_() % 600);
    const absl::StatusOr<EntryId> id = AppendSeeded(*log_, ++seeds_, 500);
    EXPECT_TRUE(absl::IsResourceExhausted(id.status())) << id.status();
  }

  void Reopen() {
    log_.reset();
    RecordLogOptions options = SmallLog(folder_ / "log", &disk_);
    options.segment_bytes = kSegment;
    log_ = MustOpen(options);
    // The owner says again what is dead.
    log_->MarkDead(dead_);
  }

  std::map<uint64_t, uint64_t>::iterator Any() {
    if (alive_.empty()) return alive_.end();
    const uint64_t id =
        alive_.begin()->first +
        random_() % (alive_.rbegin()->first - alive_.begin()->first + 1);
    return alive_.lower_bound(id);
  }

  std::mt19937_64 random_;
  TempFolder folder_;
  FakeDisk disk_;
  std::unique_ptr<RecordLog> log_;
  std::map<uint64_t, uint64_t> alive_;  // Seed by id.
  std::vector<EntryId> dead_;
  uint64_t seeds_ = 0;
};

TEST(LogModelTest, TheLogHoldsWhatTheModelHolds) {
  const uint64_t steps =
      NumberFromEnvironment("FLYWHEEL_LOG_MODEL_STEPS", 3000);
  const uint64_t first = NumberFromEnvironment("FLYWHEEL_LOG_SEED", 1);
  for (uint64_t seed = first; seed < first + 4; ++seed) {
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    LogAndModel both(seed);
    for (uint64_t step = 0; step < steps && !HasFailure(); ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step));
      both.Step();
    }
    both.CheckAll();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace flywheel
