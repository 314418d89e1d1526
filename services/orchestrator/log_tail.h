#pragma once

#include <cstdint>
#include <string>

namespace flywheel {

// The last line of the log file `path` that is not empty, looking only at what
// was written from byte `from` on; without the date and the level that services
// begin their lines with, cut at 500 bytes, on one line. Empty if there is
// none.
std::string LastLogLine(const std::string& path, int64_t from);

}  // namespace flywheel
