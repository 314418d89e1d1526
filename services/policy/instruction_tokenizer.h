#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace flywheel {

// Tokens of one instruction; longer ones are cut, shorter ones padded with 0.
inline constexpr int kInstructionTokens = 8;

// Rows of the embedding table: 0 is padding, 1 any word not in the closed list.
// More than the list has words, so that words can be added without changing
// the shape of stored policies.
inline constexpr int kInstructionVocabulary = 64;

using InstructionTokens = std::array<int64_t, kInstructionTokens>;

// Splits at anything but letters, ignores case, and looks each word up in a
// list that is part of the program: the same words give the same tokens
// everywhere and for ever.
InstructionTokens TokenizeInstruction(std::string_view instruction);

}  // namespace flywheel
