#include "services/policy/safetensors_header.h"

#include <cstddef>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

constexpr std::size_t kRankMax = 16;

// Reads JSON from left to right; each method takes one thing or fails.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  absl::Status Take(char wanted) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != wanted) {
      return Expected(absl::StrCat("'", std::string(1, wanted), "'"));
    }
    ++at_;
    return absl::OkStatus();
  }

  // Takes `wanted` if it comes next.
  bool TakeIf(char wanted) {
    SkipSpace();
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  absl::StatusOr<std::string> TakeString() {
    FLYWHEEL_RETURN_IF_ERROR(Take('"'));
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      const unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c < 0x20) return Expected("no control characters in a string");
      if (c == '\\') {
        FLYWHEEL_RETURN_IF_ERROR(TakeEscape(value));
      } else {
        value += text_[at_++];
      }
    }
    if (at_ == text_.size()) return Expected("the end of a string");
    ++at_;
    return value;
  }

  // A number without sign, fraction, exponent or leading zeros.
  absl::StatusOr<uint64_t> TakeNumber() {
    SkipSpace();
    const std::size_t begin = at_;
    uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9';
         ++at_) {
      const uint64_t digit = static_cast<uint64_t>(text_[at_] - '0');
      if (value > (UINT64_MAX - digit) / 10)
        return Expected("a smaller number");
      value = 10 * value + digit;
    }
    const bool leading_zero = at_ - begin > 1 && text_[begin] == '0';
    if (at_ == begin || leading_zero) return Expected("a whole number");
    return value;
  }

  // The header may be padded with spaces only.
  absl::Status TakeEnd() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size() ? absl::OkStatus() : Expected("the end");
  }

  absl::Status Expected(std::string_view what) const {
    return absl::InvalidArgumentError(absl::StrCat(
        "safetensors header: expected ", std::string(what), " at byte ", at_));
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' ||
                                  text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }

  absl::Status TakeEscape(std::string& value) {
    ++at_;  // The backslash.
    if (at_ == text_.size()) return Expected("an escape");
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = text_[at_];
    if (const std::size_t i = kFrom.find(c); i != std::string_view::npos) {
      value += kTo[i];
      ++at_;
      return absl::OkStatus();
    }
    if (c != 'u') return Expected("an escape");
    ++at_;
    return TakeCodeUnit(value);
  }

  // Four hexadecimal digits; pairs of surrogates are not supported.
  absl::Status TakeCodeUnit(std::string& value) {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      if (at_ == text_.size()) return Expected("a hexadecimal digit");
      const char c = text_[at_];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return Expected("a hexadecimal digit");
      code = 16 * code + static_cast<uint32_t>(digit);
    }
    if (code >= 0xd800 && code < 0xe000) return Expected("no surrogates");
    if (code < 0x80) {
      value += static_cast<char>(code);
    } else if (code < 0x800) {
      value += static_cast<char>(0xc0 | (code >> 6));
      value += static_cast<char>(0x80 | (code & 0x3f));
    } else {
      value += static_cast<char>(0xe0 | (code >> 12));
      value += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
      value += static_cast<char>(0x80 | (code & 0x3f));
    }
    return absl::OkStatus();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

absl::StatusOr<std::vector<uint64_t>> TakeNumbers(Parser& parser) {
  std::vector<uint64_t> numbers;
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('['));
  if (parser.TakeIf(']')) return numbers;
  do {
    if (numbers.size() == kRankMax) return parser.Expected("fewer numbers");
    absl::StatusOr<uint64_t> number = parser.TakeNumber();
    if (!number.ok()) return number.status();
    numbers.push_back(*number);
  } while (parser.TakeIf(','));
  FLYWHEEL_RETURN_IF_ERROR(parser.Take(']'));
  return numbers;
}

// "key":
absl::StatusOr<std::string> TakeKey(Parser& parser) {
  absl::StatusOr<std::string> key = parser.TakeString();
  if (!key.ok()) return key;
  FLYWHEEL_RETURN_IF_ERROR(parser.Take(':'));
  return key;
}

absl::Status TakeField(Parser& parser, const std::string& key,
                       SafetensorsEntry& entry) {
  if (key == "dtype") {
    absl::StatusOr<std::string> element = parser.TakeString();
    if (!element.ok()) return element.status();
    entry.element = *std::move(element);
    return absl::OkStatus();
  }
  if (key != "shape" && key != "data_offsets") {
    return parser.Expected("dtype, shape or data_offsets before this byte");
  }
  absl::StatusOr<std::vector<uint64_t>> numbers = TakeNumbers(parser);
  if (!numbers.ok()) return numbers.status();
  (key == "shape" ? entry.shape : entry.range) = *std::move(numbers);
  return absl::OkStatus();
}

absl::Status TakeEntry(Parser& parser, SafetensorsEntry& entry) {
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('{'));
  std::set<std::string> seen;
  do {
    const absl::StatusOr<std::string> key = TakeKey(parser);
    if (!key.ok()) return key.status();
    if (!seen.insert(*key).second) return parser.Expected("each field once");
    FLYWHEEL_RETURN_IF_ERROR(TakeField(parser, *key, entry));
  } while (parser.TakeIf(','));
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('}'));
  if (seen.size() != 3) {
    return parser.Expected("dtype, shape and data_offsets before this byte");
  }
  return absl::OkStatus();
}

absl::Status TakeMetadata(Parser& parser,
                          std::map<std::string, std::string>& metadata) {
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('{'));
  if (parser.TakeIf('}')) return absl::OkStatus();
  do {
    absl::StatusOr<std::string> key = TakeKey(parser);
    if (!key.ok()) return key.status();
    absl::StatusOr<std::string> value = parser.TakeString();
    if (!value.ok()) return value.status();
    if (!metadata.emplace(*std::move(key), *std::move(value)).second) {
      return parser.Expected("each metadata key once");
    }
  } while (parser.TakeIf(','));
  return parser.Take('}');
}

}  // namespace

absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(
    std::string_view text) {
  if (text.empty() || text[0] != '{') {
    return absl::InvalidArgumentError(
        "safetensors header: the first byte must be '{'");
  }
  SafetensorsHeader header;
  Parser parser(text);
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('{'));
  if (parser.TakeIf('}')) {
    FLYWHEEL_RETURN_IF_ERROR(parser.TakeEnd());
    return header;
  }
  std::set<std::string> names;
  do {
    absl::StatusOr<std::string> name = TakeKey(parser);
    if (!name.ok()) return name.status();
    if (!names.insert(*name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("safetensors header: tensor ", *name, " appears twice"));
    }
    if (*name == "__metadata__") {
      FLYWHEEL_RETURN_IF_ERROR(TakeMetadata(parser, header.metadata));
      continue;
    }
    SafetensorsEntry entry{.name = *std::move(name)};
    FLYWHEEL_RETURN_IF_ERROR(TakeEntry(parser, entry));
    header.entries.push_back(std::move(entry));
  } while (parser.TakeIf(','));
  FLYWHEEL_RETURN_IF_ERROR(parser.Take('}'));
  FLYWHEEL_RETURN_IF_ERROR(parser.TakeEnd());
  return header;
}

std::string JsonQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppend(&quoted, "\\u00", absl::Hex(c, absl::kZeroPad2));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

}  // namespace flywheel
