#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace flywheel {

// One tensor's entry, as written: nothing but the form is checked yet.
struct SafetensorsEntry {
  std::string name;
  std::string element;  // "F32"
  std::vector<uint64_t> shape;
  std::vector<uint64_t> range;  // First byte, one past the last.
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
};

// Parses the JSON header of a safetensors file: exactly the forms the format
// allows, no more. Returns InvalidArgument saying what was expected and at
// which byte.
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view text);

// `text` as a JSON string, quotes included. Bytes from 0x80 on are passed on.
std::string JsonQuoted(std::string_view text);

}  // namespace flywheel
