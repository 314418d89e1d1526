#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "services/buffer/log/record_log.h"
#include "services/core/keyed_random.h"
#include "tests/testing/temp_folder.h"

namespace flywheel {

// A payload that only `seed` and the length decide, so that who reads it can
// tell whether it is bit-exact.
inline std::vector<std::byte> PayloadOf(uint64_t seed, std::size_t bytes) {
  std::vector<std::byte> payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i) {
    payload[i] = static_cast<std::byte>(MixBits(seed + i / 8) >> (i % 8 * 8));
  }
  return payload;
}

inline std::vector<std::byte> BytesOfText(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

// Small segments and no threads: everything happens when the test says so.
inline RecordLogOptions SmallLog(const std::string& folder,
                                 LogFiles* files = nullptr) {
  return {.folder = folder,
          .segment_bytes = 8192,
          .background = false,
          .files = files};
}

inline std::unique_ptr<RecordLog> MustOpen(RecordLogOptions options) {
  absl::StatusOr<std::unique_ptr<RecordLog>> log =
      RecordLog::Open(std::move(options));
  EXPECT_TRUE(log.ok()) << log.status();
  return log.ok() ? *std::move(log) : nullptr;
}

inline absl::StatusOr<EntryId> Append(RecordLog& log,
                                      std::span<const std::byte> payload,
                                      uint16_t kind = 1, EntryKey key = {}) {
  return log.Append({.kind = kind, .key = key, .payload = {&payload, 1}});
}

// Its payload is PayloadOf(seed, bytes), its key says so.
inline absl::StatusOr<EntryId> AppendSeeded(RecordLog& log, uint64_t seed,
                                            std::size_t bytes) {
  return Append(log, PayloadOf(seed, bytes), static_cast<uint16_t>(seed),
                {{seed, bytes}});
}

inline std::vector<std::byte> BytesRead(const RecordLog& log, EntryId id) {
  const absl::StatusOr<LogEntry> entry = log.Read(id);
  EXPECT_TRUE(entry.ok()) << entry.status();
  if (!entry.ok()) return {};
  return {entry->payload.begin(), entry->payload.end()};
}

// Whether entry `id` reads as AppendSeeded() wrote it.
inline bool IsSeeded(const LogEntry& entry) {
  const uint64_t seed = entry.info.key.words[0];
  const std::vector<std::byte> expected =
      PayloadOf(seed, entry.info.key.words[1]);
  return entry.info.kind == static_cast<uint16_t>(seed) &&
         entry.info.payload_bytes == expected.size() &&
         std::equal(entry.payload.begin(), entry.payload.end(),
                    expected.begin(), expected.end());
}

// The keys' first words of all live entries by id, each read and checked; fails
// the test for an entry that is listed twice or out of order.
inline std::map<uint64_t, uint64_t> SeedsById(RecordLog& log) {
  std::map<uint64_t, uint64_t> seeds;
  uint64_t previous = 0;
  log.ForEach([&](const EntryInfo& info) {
    EXPECT_GT(info.id.value, previous);
    previous = info.id.value;
    const absl::StatusOr<LogEntry> entry = log.Read(info.id);
    if (!entry.ok()) {
      ADD_FAILURE() << entry.status();
      return;
    }
    EXPECT_EQ(entry->info.id, info.id);
    EXPECT_EQ(entry->info.key, info.key);
    EXPECT_EQ(entry->info.payload_bytes, info.payload_bytes);
    EXPECT_TRUE(IsSeeded(*entry)) << info.id.value;
    seeds[info.id.value] = info.key.words[0];
  });
  return seeds;
}

// Twice the live data plus two segments, and a page for each file.
inline void ExpectWithinSpaceBound(RecordLog& log, uint64_t segment_bytes) {
  const RecordLogUse use = log.Use();
  EXPECT_LE(use.disk_bytes,
            2 * use.live_bytes + 2 * segment_bytes + 4096 * use.segments);
}

}  // namespace flywheel
