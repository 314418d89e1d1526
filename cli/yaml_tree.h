#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace flywheel {

// One value of a YAML document and the line it stands on.
struct YamlNode {
  enum class Kind { kNull, kScalar, kSequence, kMap };

  // A map's key and what it names.
  struct Entry;

  Kind kind = Kind::kNull;
  int line = 0;                 // From 1; 0: not from a file.
  std::string text;             // kScalar, as written, quotes removed.
  bool quoted = false;          // kScalar written in quotes: a text for sure.
  std::vector<YamlNode> items;  // kSequence.
  std::vector<Entry> entries;   // kMap, in the file's order.
};

struct YamlNode::Entry {
  std::string key;
  int line = 0;  // Of the key.
  YamlNode value;
};

// What a job file may be at most: far more than any job needs, little enough
// that no file can hold up or fill the machine.
struct YamlLimits {
  std::size_t bytes_max = std::size_t{1} << 20;
  int depth_max = 16;
  int nodes_max = 20000;
};

// Reads the one YAML document in `text`. A document without content is kNull.
//
// InvalidArgument, one sentence beginning "line N: " where there is a line: not
// YAML, several documents, keys that are doubled or no plain text, anchors,
// aliases and tags (a job needs none, and they can make a small file huge),
// tabs in the indentation, bytes that are no UTF-8 text, or over a limit.
absl::StatusOr<YamlNode> YamlFromText(std::string_view text,
                                      const YamlLimits& limits = {});

}  // namespace flywheel
