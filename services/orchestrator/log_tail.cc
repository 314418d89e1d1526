#include "services/orchestrator/log_tail.h"

#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "services/wire/utf8_text.h"

namespace flywheel {
namespace {

constexpr int64_t kTailBytes = 4096;
constexpr std::size_t kLineBytesMax = 500;

// "2026-01-31T12:00:00.000 [error] what happened" -> "what happened"
std::string Reason(const std::string& line) {
  constexpr std::size_t kDateBytes = 23;
  const std::size_t level = line.find(" [");
  const std::size_t end = line.find("] ");
  const bool dated =
      level == kDateBytes && line[10] == 'T' && end != std::string::npos;
  if (!dated) return line;
  return absl::StrContains(line.substr(level, end - level), "info")
             ? ""
             : line.substr(end + 2);
}

}  // namespace

std::string LastLogLine(const std::string& path, int64_t from) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const int64_t size = file.tellg();
  const int64_t start = std::max(from, size - kTailBytes);
  if (start >= size) return "";
  std::string tail(static_cast<std::size_t>(size - start), '\0');
  file.seekg(start);
  file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
  const std::size_t last = tail.find_last_not_of(" \n\r\t");
  if (last == std::string::npos) return "";
  tail.resize(last + 1);
  std::string line = Reason(tail.substr(tail.find_last_of('\n') + 1));
  line = Utf8Text(line, kLineBytesMax);
  std::replace_if(
      line.begin(), line.end(), [](char c) { return absl::ascii_iscntrl(c); },
      ' ');
  return line;
}

}  // namespace flywheel
