#pragma once

#include <cstdint>
#include <string>

namespace flywheel {

// Numbers as people read them.

// "1,234,567".
std::string Grouped(int64_t value);

// About three digits: "0.0312", "-1.5", "2.5k", "10M"; "–" if not finite.
std::string Compact(double value);

// "12 s", "3:07", "2:03:04"; "–" if not finite or negative.
std::string Duration(double seconds);

// "93.5 %"; "–" if not finite.
std::string Percent(double share);

}  // namespace flywheel
