// The power fails at any instant: whatever of the unsynced writes reached the
// disk, all entries acknowledged as durable are there, and those that follow
// are a beginning of what was appended.
//
// FLYWHEEL_LOG_POWER_LOSSES sets the number of histories, FLYWHEEL_LOG_SEED the
// first seed.

#include <gtest/gtest.h>

#include <cstdlib>

#include "services/buffer/log/failpoints.h"
#include "tests/buffer/log/fake_disk.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {
namespace {

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

RecordLogOptions DurableLog(const std::string& folder, FakeDisk& disk) {
  RecordLogOptions options = SmallLog(folder, &disk);
  options.durability = Durability::kDisk;
  return options;
}

// A log on a disk that may lose its power, and what must hold of it.
class PowerLossHistory {
 public:
  explicit PowerLossHistory(uint64_t seed) : random_(seed) { Reopen(); }
  ~PowerLossHistory() { DisarmFailpoints(); }

  void Run(int num_lives) {
    for (int life = 0; life < num_lives; ++life) {
      ArmRandomFailpoint();
      for (uint64_t steps = 20 + random_() % 100; steps > 0; --steps) Step();
      if (disk_after_ == nullptr) LosePower();
      DisarmFailpoints();
      log_.reset();
      disk_ = std::move(disk_after_);
      TakeAsOfTheLoss();
      // The start itself may lose the power.
      for (uint64_t losses = random_() % 3; losses > 0; --losses) {
        LosePowerWhileOpening();
      }
      Reopen();
      Check();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  struct Entry {
    uint64_t seed = 0;
    bool dead = false;
  };

  void Step() {
    if (disk_after_ != nullptr) return;  // The power is off.
    const uint64_t dice = random_() % 10;
    if (dice < 6) {
      AppendOne();
    } else if (dice < 8) {
      const std::size_t newest =
          entries_.empty() ? 0 : entries_.rbegin()->first;
      if (log_->WaitDurable({newest}).ok() && disk_after_ == nullptr) {
        durable_ = std::max(durable_, newest);
      }
    } else if (dice < 9) {
      KillSome();
    } else {
      while (log_->Compact().value_or(false)) {
      }
    }
  }

  void AppendOne() {
    const uint64_t seed = ++seeds_;
    const std::size_t bytes = random_() % 20 == 0 ? 9000 : random_() % 1500;
    const absl::StatusOr<EntryId> id = AppendSeeded(*log_, seed, bytes);
    ASSERT_TRUE(id.ok()) << id.status();
    // While the power was on nobody had heard of it yet: it may be there.
    entries_[id->value] = {seed};
  }

  void KillSome() {
    for (auto& [id, entry] : entries_) {
      if (entry.dead || random_() % 3 == 0) continue;
      entry.dead = true;
      log_->MarkDead(EntryId{id});
    }
  }

  // The log goes on behind it, into nothing.
  void LosePower() {
    if (disk_after_ != nullptr) return;
    disk_after_ = disk_->AfterPowerLoss(random_);
    durable_at_loss_ = durable_;
  }

  void ArmRandomFailpoint() {
    const std::size_t which = random_() % std::size(kLogFailpoints);
    ArmFailpoint(kLogFailpoints[which], 1 + static_cast<int>(random_() % 5),
                 [this] { LosePower(); });
  }

  void TakeAsOfTheLoss() { durable_ = durable_at_loss_; }

  void LosePowerWhileOpening() {
    ArmRandomFailpoint();
    { Reopen(); }
    log_.reset();
    if (disk_after_ == nullptr) disk_after_ = disk_->AfterPowerLoss(random_);
    DisarmFailpoints();
    disk_ = std::move(disk_after_);
  }

  void Reopen() {
    log_ = MustOpen(DurableLog(folder_ / "log", *disk_));
    ASSERT_NE(log_, nullptr);
  }

  void Check() {
    const std::map<uint64_t, uint64_t> found = SeedsById(*log_);
    const uint64_t newest = found.empty() ? 0 : found.rbegin()->first;
    // One that was being appended when the power failed may be there.
    for (const auto& [id, seed] : found) {
      if (entries_.contains(id)) {
        EXPECT_EQ(entries_.at(id).seed, seed) << id;
      } else {
        EXPECT_EQ(id, newest);
      }
    }
    for (const auto& [id, entry] : entries_) {
      if (entry.dead) continue;
      if (id <= durable_) {
        EXPECT_TRUE(found.contains(id)) << "lost " << id;
      }
      if (id < newest) {
        EXPECT_TRUE(found.contains(id)) << "a gap at " << id;
      }
    }
    // From here on these are the entries, and all are durable.
    std::map<uint64_t, Entry> entries;
    for (const auto& [id, seed] : found) {
      const bool dead = entries_.contains(id) && entries_.at(id).dead;
      entries[id] = {seed, dead};
      if (dead) log_->MarkDead(EntryId{id});
    }
    entries_ = std::move(entries);
    durable_ = newest;
  }

  std::mt19937_64 random_;
  TempFolder folder_;
  std::unique_ptr<FakeDisk> disk_ = std::make_unique<FakeDisk>();
  std::unique_ptr<FakeDisk> disk_after_;  // Once the power failed.
  uint64_t durable_at_loss_ = 0;
  std::unique_ptr<RecordLog> log_;
  std::map<uint64_t, Entry> entries_;
  uint64_t durable_ = 0;  // Entries up to here were acknowledged.
  uint64_t seeds_ = 0;
};

TEST(LogPowerLossTest, NothingDurableIsLostAndTheRestIsABeginning) {
  const uint64_t histories =
      NumberFromEnvironment("FLYWHEEL_LOG_POWER_LOSSES", 60);
  const uint64_t first = NumberFromEnvironment("FLYWHEEL_LOG_SEED", 1);
  std::printf("seeds from %llu\n", static_cast<unsigned long long>(first));
  for (uint64_t seed = first; seed < first + histories; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    PowerLossHistory(seed).Run(/*num_lives=*/8);
    if (HasFailure()) return;
  }
}

TEST(LogPowerLossTest, TheFakeDiskLosesWhatWasNotSynced) {
  FakeDisk disk;
  std::mt19937_64 random(1);
  const auto file = *disk.Create("a", 8192, 0);
  const std::vector<std::byte> bytes = PayloadOf(1, 8192);
  const std::span<const std::byte> piece(bytes);
  ASSERT_TRUE(file->Write(0, {&piece, 1}).ok());
  int lost = 0;
  int whole = 0;
  for (int i = 0; i < 100; ++i) {
    const auto after = disk.AfterPowerLoss(random);
    const bool there = !after->List()->empty();
    lost += !there;
    whole += there && after->Bytes("a") == bytes;
  }
  EXPECT_GT(lost, 20);
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, 50);
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(disk.SyncFolder().ok());
  EXPECT_EQ(disk.AfterPowerLoss(random)->Bytes("a"), bytes);
}

}  // namespace
}  // namespace flywheel
