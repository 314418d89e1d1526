#include "services/policy/instruction_tokenizer.h"

#include <gtest/gtest.h>

#include <string>

namespace flywheel {
namespace {

// Stored policies depend on these numbers: they may never change.
TEST(InstructionTokenizerTest, KeepsTheNumbersOfItsWords) {
  EXPECT_EQ(TokenizeInstruction("reach the red cube"),
            (InstructionTokens{2, 3, 4, 8, 0, 0, 0, 0}));
  EXPECT_EQ(TokenizeInstruction("green ball yellow cylinder blue"),
            (InstructionTokens{5, 9, 7, 10, 6, 0, 0, 0}));
}

TEST(InstructionTokenizerTest, IgnoresCaseAndWhateverIsNoLetter) {
  EXPECT_EQ(TokenizeInstruction("  Reach, THE red\tcube!\n"),
            TokenizeInstruction("reach the red cube"));
}

TEST(InstructionTokenizerTest, GivesUnknownWordsOneToken) {
  EXPECT_EQ(TokenizeInstruction("reach the octagon"),
            (InstructionTokens{2, 3, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(TokenizeInstruction("r\xc3\xa9"
                                "d"),
            (InstructionTokens{1, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(InstructionTokenizerTest, PadsTheEmptyInstruction) {
  EXPECT_EQ(TokenizeInstruction(""), InstructionTokens{});
  EXPECT_EQ(TokenizeInstruction("12 34 !"), InstructionTokens{});
}

TEST(InstructionTokenizerTest, CutsWhatIsTooLong) {
  EXPECT_EQ(TokenizeInstruction("a a a a a a a the red"),
            (InstructionTokens{11, 11, 11, 11, 11, 11, 11, 3}));
  EXPECT_EQ(TokenizeInstruction(std::string(100000, 'x')),
            (InstructionTokens{1, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace flywheel
