#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace flywheel {

// The rules that messages from the network are held to. Each check returns
// InvalidArgument naming the field, the rule and the value.

// A message that carries no tensors and no records.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxRepeated = std::size_t{1} << 20;
inline constexpr std::size_t kMaxTextBytes = std::size_t{64} << 10;

// Records that follow one message: with it they fit into kMaxFrames.
inline constexpr uint64_t kMaxRecordFrames = 65535;

absl::Status CheckMessageBytes(std::string_view message, std::size_t size);

absl::Status CheckAtLeast(std::string_view field, int64_t value, int64_t min);
absl::Status CheckRange(std::string_view field, uint64_t value, uint64_t min,
                        uint64_t max);

// Of a repeated field: at most kMaxRepeated.
absl::Status CheckRepeated(std::string_view field, std::size_t size);

// Finite and not negative.
absl::Status CheckAmount(std::string_view field, double value);

absl::Status CheckTextBytes(std::string_view field, std::string_view text);

}  // namespace flywheel
