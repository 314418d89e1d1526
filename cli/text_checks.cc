#include "cli/text_checks.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

constexpr std::size_t kQuotedBytesMax = 80;

bool IsContinuation(char byte) {
  return (static_cast<uint8_t>(byte) & 0xc0) == 0x80;
}

}  // namespace

// Refuses overlong forms, surrogates and what lies beyond U+10FFFF.
std::size_t CharacterBytes(std::string_view text) {
  const auto byte = static_cast<uint8_t>(text[0]);
  if (byte < 0x80) return 1;
  const std::size_t size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
  if (byte < 0xc2 || byte > 0xf4 || text.size() < size) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + size, IsContinuation)) {
    return 0;
  }
  const auto second = static_cast<uint8_t>(text[1]);
  if (byte == 0xe0 && second < 0xa0) return 0;
  if (byte == 0xed && second > 0x9f) return 0;
  if (byte == 0xf0 && second < 0x90) return 0;
  if (byte == 0xf4 && second > 0x8f) return 0;
  return size;
}

bool IsControl(char byte) {
  const auto value = static_cast<uint8_t>(byte);
  return (value < 0x20 && byte != '\n' && byte != '\r' && byte != '\t') ||
         value == 0x7f;
}

std::string Quoted(std::string_view text) {
  std::size_t size = std::min(text.size(), kQuotedBytesMax);
  while (size > 0 && size < text.size() && IsContinuation(text[size])) --size;
  return absl::StrCat(
      "\"", absl::Utf8SafeCEscape(absl::string_view(text.data(), size)),
      size < text.size() ? "…\"" : "\"");
}

int FirstLineThatIsNoText(std::string_view text) {
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t size = CharacterBytes(text.substr(i));
    if (size == 0 || IsControl(text[i])) return line;
    line += text[i] == '\n';
    i += size;
  }
  return 0;
}

std::string ShellQuoted(std::string_view text) {
  const auto plain = [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("_@%+=:,./-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) {
    return std::string(text);
  }
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace flywheel
