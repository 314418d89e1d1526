// kill -9 at any instant and at every failpoint: each acknowledged entry is
// there, once and bit-exact, and what else is there was appended.
//
// FLYWHEEL_LOG_KILLS sets the number of random kills per durability, for a
// campaign; FLYWHEEL_LOG_SEED the seed, which is printed.

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <set>

#include "services/buffer/log/failpoints.h"
#include "tests/buffer/log/crash_entries.h"

namespace flywheel {
namespace {

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// One life of the writing process.
class Writer {
 public:
  Writer(const std::string& folder, uint64_t life,
         const std::string& durability, uint64_t entries,
         const std::string& failpoints = "") {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    std::string arguments[] = {FLYWHEEL_CRASH_WRITER, folder,
                               std::to_string(life), durability,
                               std::to_string(entries)};
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    std::string variable = "FLYWHEEL_FAILPOINTS=" + failpoints;
    char* environment[] = {variable.data(), nullptr};
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(),
                    environment) != 0) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
  }
  ~Writer() { close(output_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // False once the process is gone and everything was read.
  bool Read(Acknowledged& entry) const {
    return read(output_, &entry, sizeof(entry)) == sizeof(entry);
  }

  void Kill() const { kill(pid_, SIGKILL); }

  // How it ended.
  int Wait() const {
    int status = 0;
    if (waitpid(pid_, &status, 0) != pid_) std::abort();
    return status;
  }

 private:
  pid_t pid_ = 0;
  int output_ = -1;
};

bool WasKilled(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

// What was acknowledged in all lives so far, and the check of a log against it.
class Ledger {
 public:
  void Add(const Acknowledged& entry) {
    EXPECT_TRUE(acknowledged_.emplace(entry.id, entry.key).second)
        << "id " << entry.id << " was acknowledged twice";
  }

  void ReadAll(const Writer& writer) {
    for (Acknowledged entry; writer.Read(entry);) Add(entry);
  }

  void Check(const std::string& folder) {
    RecordLogOptions options{.folder = folder,
                             .segment_bytes = kCrashSegmentBytes,
                             .background = false};
    const auto log = MustOpen(options);
    ASSERT_NE(log, nullptr);
    const std::map<uint64_t, uint64_t> found = SeedsById(*log);
    std::set<uint64_t> keys;
    for (const auto& [id, key] : found) {
      EXPECT_TRUE(keys.insert(key).second) << "entry " << key << " is twice";
      const auto entry = acknowledged_.find(id);
      if (entry != acknowledged_.end()) {
        EXPECT_EQ(entry->second, key);
      }
    }
    const uint64_t newest = found.empty() ? 0 : found.rbegin()->first;
    for (const auto& [id, key] : acknowledged_) {
      if (MayBeDead(id, newest)) continue;
      EXPECT_TRUE(found.contains(id)) << "lost entry " << id << " key " << key;
    }
    // A killed process leaves no more than a torn tail.
    EXPECT_EQ(log->recovery().dropped_entries, 0u);
  }

  std::size_t size() const { return acknowledged_.size(); }

 private:
  std::map<uint64_t, uint64_t> acknowledged_;  // Key by id.
};

void KillAtRandom(const std::string& durability, uint64_t kills) {
  const uint64_t seed = NumberFromEnvironment("FLYWHEEL_LOG_SEED", 1);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  TempFolder folder;
  Ledger ledger;
  for (uint64_t life = 1; life <= kills; ++life) {
    SCOPED_TRACE(absl::StrCat("life ", life));
    // It writes on until it is killed; how far it is ahead of what was read
    // nobody knows, so the instant is any.
    const Writer writer(folder / "log", life, durability, 1 << 30);
    Acknowledged entry;
    for (uint64_t left = random() % 300; left > 0 && writer.Read(entry);
         --left) {
      ledger.Add(entry);
    }
    writer.Kill();
    ledger.ReadAll(writer);
    ASSERT_TRUE(WasKilled(writer.Wait()));
    ledger.Check(folder / "log");
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(ledger.size(), kills);
}

TEST(LogCrashTest, KilledAtRandomNothingAcknowledgedIsLost) {
  KillAtRandom("process", NumberFromEnvironment("FLYWHEEL_LOG_KILLS", 50));
}

TEST(LogCrashTest, KilledAtRandomNothingAcknowledgedIsLostWithGroupCommit) {
  KillAtRandom("disk", NumberFromEnvironment("FLYWHEEL_LOG_KILLS", 50));
}

TEST(LogCrashTest, KilledInMemoryTheLossIsReported) {
  TempFolder folder;
  Acknowledged entry;
  {
    const Writer writer(folder / "log", 1, "memory", 1 << 30);
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(writer.Read(entry));
    writer.Kill();
    ASSERT_TRUE(WasKilled(writer.Wait()));
  }
  RecordLogOptions options = SmallLog(folder / "log");
  options.durability = Durability::kMemory;
  const auto log = MustOpen(options);
  EXPECT_EQ(log->Use().live_entries, 0u);
  EXPECT_GT(log->recovery().memory_segments, 0u);
  EXPECT_EQ(log->recovery().messages.size(), 1u);
}

// What must stand in the folder for recovery to get to its failpoint.
std::string PreparationFor(std::string_view failpoint) {
  if (failpoint == "recover.before_cut" || failpoint == "recover.after_cut") {
    return "append.within_payload=kill:20";
  }
  return "compact.after_rename=kill:1";
}

class FailpointTest : public ::testing::TestWithParam<std::string_view> {};

TEST_P(FailpointTest, KilledThereNothingAcknowledgedIsLost) {
  const std::string name(GetParam());
  for (const int hit : {1, 2, 7}) {
    // Recovery passes each of its places once.
    if (hit > 1 && name.starts_with("recover.")) continue;
    SCOPED_TRACE(absl::StrCat(name, " hit ", hit));
    TempFolder folder;
    Ledger ledger;
    uint64_t life = 0;
    const auto live = [&](const std::string& failpoints, uint64_t entries) {
      const Writer writer(folder / "log", ++life, "disk", entries, failpoints);
      ledger.ReadAll(writer);
      return writer.Wait();
    };
    ASSERT_TRUE(WasKilled(live(PreparationFor(name), 1 << 30)));
    EXPECT_TRUE(WasKilled(live(absl::StrCat(name, "=kill:", hit), 5000)))
        << "it was never reached";
    const std::size_t before = ledger.size();
    ledger.Check(folder / "log");
    EXPECT_EQ(live("", 200), 0);
    ledger.Check(folder / "log");
    EXPECT_GE(ledger.size(), before + 200);
  }
}

std::string TestNameOf(const ::testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, FailpointTest,
                         ::testing::ValuesIn(kLogFailpoints), TestNameOf);

TEST(FailpointTextTest, ATextThatCannotBeReadArmsNothing) {
  EXPECT_TRUE(absl::IsInvalidArgument(ArmFailpoints("a=kill,b=sleep")));
  EXPECT_TRUE(absl::IsInvalidArgument(ArmFailpoints("a=kill:0")));
  EXPECT_TRUE(absl::IsInvalidArgument(ArmFailpoints("kill")));
  EXPECT_FALSE(AnyFailpointArmed());
  EXPECT_TRUE(ArmFailpoints("").ok());
}

}  // namespace
}  // namespace flywheel
