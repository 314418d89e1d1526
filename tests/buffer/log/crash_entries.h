#pragma once

#include <cstdint>

#include "services/buffer/log/log_entry.h"
#include "services/core/keyed_random.h"
#include "tests/buffer/log/log_harness.h"

namespace flywheel {

// What the process that is killed and the test that checks agree on.
//
// Entry `sequence` of the process's life `life` has the key
// {life << 32 | sequence, payload bytes}; its payload follows from that.

// The owner's rule of what is dead, which it derives anew after every start:
// all but the newest entries, except for one in eight.
inline constexpr uint64_t kNewestKept = 64;
inline bool MayBeDead(uint64_t id, uint64_t newest_id) {
  return id + kNewestKept < newest_id && MixBits(id) % 8 != 0;
}

inline std::size_t CrashPayloadBytes(uint64_t key) {
  const uint64_t bits = MixBits(key);
  if (bits % 97 == 0) return 100'000;  // A segment of its own.
  return bits % 3 == 0 ? bits / 3 % 9000 : bits / 3 % 500;
}

// What the process writes to its standard output once an entry is acknowledged.
struct Acknowledged {
  uint64_t id = 0;
  uint64_t key = 0;
};

inline constexpr uint64_t kCrashSegmentBytes = 64 << 10;

}  // namespace flywheel
