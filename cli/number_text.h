#pragma once

#include <optional>
#include <string_view>

#include "absl/numeric/int128.h"

namespace flywheel {

// The whole number that `text` writes: "2000000", "2_000_000", "2e6", "-3".
// Nullopt if it writes anything else, or a number of over 30 digits.
std::optional<absl::int128> WholeNumberFromText(std::string_view text);

// The finite number that `text` writes, to the nearest double: "0.99", "3e-4",
// "1_000". Nullopt if it writes anything else: "nan", ".inf", "1e999", "0x10".
std::optional<double> NumberFromText(std::string_view text);

}  // namespace flywheel
