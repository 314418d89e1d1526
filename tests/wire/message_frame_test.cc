#include "services/wire/message_frame.h"

#include <gtest/gtest.h>

namespace flywheel {
namespace {

TEST(MessageFrameTest, TakesBytesOverWithoutACopy) {
  std::vector<std::byte> bytes(10, std::byte{'x'});
  const std::byte* data = bytes.data();
  const MessageFrame frame(std::move(bytes));
  EXPECT_EQ(frame.bytes().data(), data);
  EXPECT_EQ(frame.text(), "xxxxxxxxxx");
}

TEST(MessageFrameTest, CopiesText) {
  std::string text = "hello";
  const MessageFrame frame(text);
  text = "other";
  EXPECT_EQ(frame.text(), "hello");
}

TEST(MessageFrameTest, CopiesShareOneOwnerUntilTheLastIsGone) {
  auto owner = std::make_shared<const std::string>("shared bytes");
  const std::weak_ptr<const std::string> alive = owner;
  auto frame = std::make_unique<MessageFrame>(
      owner, std::as_bytes(std::span(owner->data(), owner->size())));
  owner.reset();
  auto copy = std::make_unique<MessageFrame>(*frame);
  frame.reset();
  EXPECT_EQ(copy->text(), "shared bytes");
  EXPECT_FALSE(alive.expired());
  copy.reset();
  EXPECT_TRUE(alive.expired());
}

TEST(MessageFrameTest, EmptyFramesHaveNoBytes) {
  EXPECT_EQ(MessageFrame().size(), 0u);
  EXPECT_EQ(MessageFrame(std::string_view()).size(), 0u);
  EXPECT_EQ(MessageFrame(std::vector<std::byte>()).text(), "");
}

}  // namespace
}  // namespace flywheel
