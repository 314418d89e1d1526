// How fast the record log takes entries in and comes back, one JSON line per
// result: appending one at a time and 64 at a time at each durability, beside
// memcpy of the same bytes into fresh memory; then opening a log of 1 GB.
//
//   log_bench [FOLDER]     a folder on the disk to measure; default: here

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "services/buffer/log/record_log.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kRounds = 5;
constexpr uint64_t kRoundBytes = 192 << 20;
constexpr std::size_t kSizes[] = {400, 4000, 40'000, 400'000};

double SecondsSince(SteadyClock::time_point begin) {
  return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

struct Mode {
  const char* name;
  Durability durability;
  std::size_t batch;
};
constexpr Mode kModes[] = {
    {"memory", Durability::kMemory, 1},    {"process", Durability::kProcess, 1},
    {"process", Durability::kProcess, 64}, {"disk", Durability::kDisk, 1},
    {"disk", Durability::kDisk, 64},
};

void Require(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

std::unique_ptr<RecordLog> OpenLog(const std::string& folder,
                                   Durability durability) {
  auto log = RecordLog::Open({.folder = folder, .durability = durability});
  Require(log.status());
  return *std::move(log);
}

struct Rates {
  std::vector<double> seconds;  // Of each round.
  uint64_t entries = 0;         // Of each round.
};

void Print(const std::string& benchmark, const std::string& durability,
           std::size_t bytes, std::size_t batch, Rates rates) {
  std::sort(rates.seconds.begin(), rates.seconds.end());
  const auto rate = [&](double seconds) {
    return static_cast<double>(rates.entries) / seconds;
  };
  const double median = rate(rates.seconds[rates.seconds.size() / 2]);
  std::printf(
      "{\"benchmark\": \"%s\", \"durability\": \"%s\", \"bytes\": %zu, "
      "\"batch\": %zu, \"entries_per_second\": %.0f, "
      "\"entries_per_second_min\": %.0f, \"entries_per_second_max\": %.0f, "
      "\"megabytes_per_second\": %.1f}\n",
      benchmark.c_str(), durability.c_str(), bytes, batch, median,
      rate(rates.seconds.back()), rate(rates.seconds.front()),
      median * static_cast<double>(bytes) * 1e-6);
  std::fflush(stdout);
}

// Appends `entries` and returns the seconds until they were acknowledged.
double AppendRound(RecordLog& log, std::span<const std::byte> payload,
                   std::size_t batch, uint64_t entries) {
  const std::vector<NewEntry> all(batch, {.kind = 1, .payload = {&payload, 1}});
  std::vector<EntryId> dead;
  const SteadyClock::time_point begin = SteadyClock::now();
  for (uint64_t done = 0; done < entries; done += batch) {
    const RecordLog::Appended appended = log.Append(all);
    Require(appended.status);
    const EntryId last{appended.first.value + batch - 1};
    Require(log.WaitDurable(last));
    for (uint64_t id = appended.first.value; id <= last.value; ++id) {
      dead.push_back({id});
    }
  }
  const double seconds = SecondsSince(begin);
  log.MarkDead(dead);
  while (*log.Compact()) {
  }
  return seconds;
}

void BenchAppend(const std::string& folder, const Mode& mode,
                 std::size_t bytes) {
  const std::vector<std::byte> payload(bytes, std::byte{7});
  std::filesystem::remove_all(folder);
  // A sync takes a millisecond or so: fewer entries will do.
  const uint64_t most = mode.durability == Durability::kDisk
                            ? 500 * mode.batch
                            : kRoundBytes / bytes;
  Rates rates{.entries = std::min<uint64_t>(most, kRoundBytes / bytes) /
                         mode.batch * mode.batch};
  const auto log = OpenLog(folder, mode.durability);
  for (int round = 0; round < kRounds; ++round) {
    rates.seconds.push_back(
        AppendRound(*log, payload, mode.batch, rates.entries));
  }
  Print("log_append", mode.name, bytes, mode.batch, rates);
}

// What the bytes cost that reach fresh memory by any way.
void BenchMemcpy(std::size_t bytes) {
  const std::vector<std::byte> payload(bytes, std::byte{7});
  Rates rates{.entries = kRoundBytes / bytes};
  for (int round = 0; round < kRounds; ++round) {
    void* memory = mmap(nullptr, kRoundBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    auto* to = static_cast<std::byte*>(memory);
    const SteadyClock::time_point begin = SteadyClock::now();
    for (uint64_t i = 0; i < rates.entries; ++i) {
      std::memcpy(to + i * bytes, payload.data(), bytes);
    }
    rates.seconds.push_back(SecondsSince(begin));
    munmap(memory, kRoundBytes);
  }
  Print("memcpy", "none", bytes, 1, rates);
}

void BenchRead(const std::string& folder, std::size_t bytes) {
  std::filesystem::remove_all(folder);
  const auto log = OpenLog(folder, Durability::kProcess);
  const std::vector<std::byte> payload(bytes, std::byte{7});
  const std::span<const std::byte> piece(payload);
  Rates rates{.entries = kRoundBytes / bytes};
  for (uint64_t i = 0; i < rates.entries; ++i) {
    Require(log->Append({.kind = 1, .payload = {&piece, 1}}).status());
  }
  for (const auto check :
       {RecordLog::Check::kPayload, RecordLog::Check::kHeader}) {
    rates.seconds.clear();
    for (int round = 0; round < kRounds; ++round) {
      const SteadyClock::time_point begin = SteadyClock::now();
      for (uint64_t id = 1; id <= rates.entries; ++id) {
        Require(log->Read({id}, check).status());
      }
      rates.seconds.push_back(SecondsSince(begin));
    }
    const bool payload_checked = check == RecordLog::Check::kPayload;
    Print(payload_checked ? "log_read" : "log_read_header_only", "process",
          bytes, 1, rates);
  }
}

// A log of 1 GB that was not closed well: its newest segment is open.
void BenchRecovery(const std::string& folder, std::size_t bytes) {
  std::filesystem::remove_all(folder);
  {
    const auto log = OpenLog(folder, Durability::kProcess);
    const std::vector<std::byte> payload(bytes, std::byte{7});
    const std::span<const std::byte> piece(payload);
    for (uint64_t i = 0; i < 1'000'000'000 / bytes; ++i) {
      Require(log->Append({.kind = 1, .payload = {&piece, 1}}).status());
    }
  }
  std::vector<double> open;
  std::vector<double> list;
  uint64_t entries = 0;
  for (int round = 0; round < kRounds; ++round) {
    const SteadyClock::time_point begin = SteadyClock::now();
    const auto log = OpenLog(folder, Durability::kProcess);
    open.push_back(SecondsSince(begin));
    entries = 0;
    log->ForEach([&](const EntryInfo&) { ++entries; });
    list.push_back(SecondsSince(begin));
  }
  std::sort(open.begin(), open.end());
  std::sort(list.begin(), list.end());
  std::printf(
      "{\"benchmark\": \"log_recovery\", \"bytes\": %zu, \"entries\": %llu, "
      "\"open_seconds\": %.3f, \"open_seconds_max\": %.3f, "
      "\"listed_seconds\": %.3f, \"listed_seconds_max\": %.3f}\n",
      bytes, static_cast<unsigned long long>(entries), open[kRounds / 2],
      open.back(), list[kRounds / 2], list.back());
  std::fflush(stdout);
}

void Run(const std::string& folder) {
  for (const std::size_t bytes : kSizes) {
    BenchMemcpy(bytes);
    for (const Mode& mode : kModes) BenchAppend(folder, mode, bytes);
    BenchRead(folder, bytes);
  }
  for (const std::size_t bytes : kSizes) BenchRecovery(folder, bytes);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  flywheel::Run(std::string(argc > 1 ? argv[1] : ".") + "/log_bench_folder");
  return 0;
}
