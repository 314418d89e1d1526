#include "services/wire/utf8_text.h"

#include <algorithm>
#include <cstdint>

namespace flywheel {
namespace {

// What may follow a leading byte; the ranges of the second byte exclude
// overlong forms, surrogates and what lies beyond U+10FFFF.
struct Form {
  uint8_t first_min, first_max;
  uint8_t second_min, second_max;
  std::size_t bytes;
};
constexpr Form kForms[] = {
    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
    {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
    {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
};

bool Within(char c, uint8_t min, uint8_t max) {
  const auto byte = static_cast<uint8_t>(c);
  return min <= byte && byte <= max;
}

// Bytes of the character that `text` begins with; 0 if it begins with none.
std::size_t CharacterBytes(std::string_view text) {
  if (Within(text[0], 0, 0x7f)) return 1;
  for (const Form& form : kForms) {
    if (!Within(text[0], form.first_min, form.first_max)) continue;
    if (text.size() < form.bytes ||
        !Within(text[1], form.second_min, form.second_max)) {
      return 0;
    }
    const std::string_view rest = text.substr(2, form.bytes - 2);
    const bool valid = std::all_of(
        rest.begin(), rest.end(), [](char c) { return Within(c, 0x80, 0xbf); });
    return valid ? form.bytes : 0;
  }
  return 0;
}

}  // namespace

std::string Utf8Text(std::string_view text, std::size_t max_bytes) {
  std::string valid;
  valid.reserve(std::min(text.size(), max_bytes));
  while (!text.empty()) {
    const std::size_t bytes = CharacterBytes(text);
    const std::string_view character =
        bytes == 0 ? std::string_view("?") : text.substr(0, bytes);
    if (valid.size() + character.size() > max_bytes) break;
    valid.append(character);
    text.remove_prefix(character.size());
  }
  return valid;
}

}  // namespace flywheel
