// The process that log_crash_test kills:
//
//   crash_writer FOLDER LIFE process|disk|memory ENTRIES
//
// Opens the log, says again what is dead, appends entries, one or several at a
// time, and writes an Acknowledged to standard output for each that is as
// durable as promised. Ends with 0 after ENTRIES of them; failpoints come from
// the environment.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "services/buffer/log/record_log.h"
#include "tests/buffer/log/crash_entries.h"

namespace flywheel {
namespace {

class CrashWriter {
 public:
  CrashWriter(RecordLog& log, uint64_t life) : log_(log), life_(life) {}

  void MarkDeadAgain() {
    std::vector<EntryId> ids;
    log_.ForEach([&](const EntryInfo& info) { ids.push_back(info.id); });
    for (const EntryId id : ids) {
      if (MayBeDead(id.value, ids.back().value)) log_.MarkDead(id);
    }
    if (!ids.empty()) newest_ = ids.back().value;
  }

  absl::Status AppendSome(std::size_t count) {
    std::vector<std::vector<std::byte>> payloads;
    std::vector<std::span<const std::byte>> pieces;
    std::vector<NewEntry> entries(count);
    for (NewEntry& entry : entries) {
      const uint64_t key = life_ << 32 | ++sequence_;
      payloads.push_back(PayloadOf(key, CrashPayloadBytes(key)));
      entry.kind = static_cast<uint16_t>(key);
      entry.key = {{key, payloads.back().size()}};
    }
    pieces.assign(payloads.begin(), payloads.end());
    for (std::size_t i = 0; i < count; ++i)
      entries[i].payload = {&pieces[i], 1};
    const RecordLog::Appended appended = log_.Append(entries);
    if (!appended.status.ok()) return appended.status;
    const uint64_t last = appended.first.value + count - 1;
    const absl::Status durable = log_.WaitDurable({last});
    if (!durable.ok()) return durable;
    for (std::size_t i = 0; i < count; ++i) {
      Acknowledge({appended.first.value + i, entries[i].key.words[0]});
    }
    MarkOldDead(last);
    return absl::OkStatus();
  }

 private:
  static void Acknowledge(const Acknowledged& entry) {
    // Small enough to be written whole or not at all.
    if (write(STDOUT_FILENO, &entry, sizeof(entry)) != sizeof(entry)) _exit(3);
  }

  void MarkOldDead(uint64_t newest) {
    for (; newest_ < newest; ++newest_) {
      if (newest_ <= kNewestKept) continue;
      const uint64_t old = newest_ - kNewestKept;
      if (MayBeDead(old, newest_ + 1)) log_.MarkDead(EntryId{old});
    }
  }

  RecordLog& log_;
  const uint64_t life_;
  uint64_t sequence_ = 0;
  uint64_t newest_ = 0;
};

int Run(const std::string& folder, uint64_t life, const std::string& durability,
        uint64_t entries) {
  RecordLogOptions options{.folder = folder,
                           .segment_bytes = kCrashSegmentBytes};
  options.sync_interval = absl::Milliseconds(1);
  if (durability == "disk") options.durability = Durability::kDisk;
  if (durability == "memory") options.durability = Durability::kMemory;
  const auto log = RecordLog::Open(options);
  if (!log.ok()) {
    std::fprintf(stderr, "%s\n", log.status().ToString().c_str());
    return 1;
  }
  CrashWriter writer(**log, life);
  writer.MarkDeadAgain();
  for (uint64_t done = 0; done < entries;) {
    const std::size_t count = 1 + MixBits(life * 1000 + done) % 5;
    const absl::Status status = writer.AppendSome(count);
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      return 2;
    }
    done += count;
  }
  return 0;
}

}  // namespace
}  // namespace flywheel

int main(int argc, char** argv) {
  if (argc != 5) return 64;
  return flywheel::Run(argv[1], std::strtoull(argv[2], nullptr, 10), argv[3],
                       std::strtoull(argv[4], nullptr, 10));
}
