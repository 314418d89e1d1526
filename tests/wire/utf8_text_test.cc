#include "services/wire/utf8_text.h"

#include <gtest/gtest.h>

#include <random>

#include "flywheel/v1/buffer.pb.h"

namespace flywheel {
namespace {

// What the receiver of a message makes of it.
bool ProtobufAccepts(const std::string& text) {
  // Field 1 of Refusal, by hand: the tag, the length, the bytes.
  std::string bytes = "\x0a";
  bytes.push_back(static_cast<char>(text.size()));
  const google::protobuf::LogSilencer silencer;
  v1::Refusal message;
  return message.ParseFromString(bytes + text);
}

TEST(Utf8TextTest, KeepsValidText) {
  for (const std::string text : {"", "plain", "Größe ∑ 机器人 🤖"}) {
    EXPECT_EQ(Utf8Text(text, 1000), text);
  }
}

TEST(Utf8TextTest, ReplacesEachBadByte) {
  EXPECT_EQ(Utf8Text("a\xff\xfe z", 1000), "a?? z");
  EXPECT_EQ(Utf8Text("\xc3", 1000), "?");                 // Cut off.
  EXPECT_EQ(Utf8Text("\xc0\xaf", 1000), "??");            // Overlong.
  EXPECT_EQ(Utf8Text("\xed\xa0\x80", 1000), "???");       // A surrogate.
  EXPECT_EQ(Utf8Text("\xf4\x90\x80\x80", 1000), "????");  // Beyond U+10FFFF.
}

TEST(Utf8TextTest, CutsBetweenCharacters) {
  EXPECT_EQ(Utf8Text("aßb", 4), "aßb");
  EXPECT_EQ(Utf8Text("aßb", 3), "aß");
  EXPECT_EQ(Utf8Text("aßb", 2), "a");
  EXPECT_EQ(Utf8Text("aßb", 0), "");
}

TEST(Utf8TextTest, AgreesWithProtobufOnRandomBytes) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  // Mostly bytes that begin or continue characters, so that both happen.
  constexpr std::string_view kBytes =
      "a\xbf\x80\x90\x9f\xa0\xc1\xc2\xdf\xe0\xe1\xed\xef\xf0\xf3\xf4\xf5\xff";
  int valid = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 6, 'x');
    for (char& c : text) c = kBytes[random() % kBytes.size()];
    const std::string made_valid = Utf8Text(text, 100);
    ASSERT_EQ(made_valid == text, ProtobufAccepts(text));
    ASSERT_TRUE(ProtobufAccepts(made_valid));
    valid += made_valid == text;
  }
  EXPECT_GT(valid, 1000);
}

}  // namespace
}  // namespace flywheel
