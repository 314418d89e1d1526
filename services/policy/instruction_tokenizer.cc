#include "services/policy/instruction_tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace flywheel {
namespace {

constexpr int64_t kUnknownWord = 1;
constexpr int64_t kFirstWord = 2;

// A word's place is its token: append only, or stored policies misread.
constexpr std::array<std::string_view, 42> kWords = {
    "reach",  "the",      "red",    "green",  "blue",   "yellow", "cube",
    "ball",   "cylinder", "a",      "push",   "pick",   "up",     "place",
    "put",    "move",     "stack",  "open",   "close",  "press",  "pull",
    "to",     "on",       "in",     "into",   "of",     "and",    "left",
    "right",  "front",    "back",   "behind", "drawer", "button", "block",
    "sphere", "box",      "orange", "purple", "white",  "black",  "gray"};
static_assert(kFirstWord + kWords.size() <= kInstructionVocabulary);

bool IsLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

int64_t TokenOf(std::string_view word) {
  std::string lower(word);
  std::transform(lower.begin(), lower.end(), lower.begin(), Lower);
  const auto found = std::find(kWords.begin(), kWords.end(), lower);
  return found == kWords.end() ? kUnknownWord
                               : kFirstWord + (found - kWords.begin());
}

}  // namespace

InstructionTokens TokenizeInstruction(std::string_view instruction) {
  InstructionTokens tokens{};
  std::size_t count = 0;
  auto at = instruction.begin();
  while (count < tokens.size()) {
    const auto begin = std::find_if(at, instruction.end(), IsLetter);
    if (begin == instruction.end()) break;
    at = std::find_if_not(begin, instruction.end(), IsLetter);
    tokens[count++] = TokenOf(std::string_view(begin, at));
  }
  return tokens;
}

}  // namespace flywheel
