#include "services/wire/zmq_socket_channel.h"

#include <gtest/gtest.h>

namespace flywheel {
namespace {

MessageFrame Owned(std::size_t size) {
  return MessageFrame(std::vector<std::byte>(size, std::byte{'x'}));
}

TEST(PartFromFrameTest, SharesLargeFramesAndCopiesSmallOnes) {
  const MessageFrame large = Owned(1024);
  EXPECT_EQ(PartFromFrame(large).data(), large.bytes().data());
  EXPECT_EQ(large.owner().use_count(), 1);  // The part is gone again.
  const MessageFrame small = Owned(1023);
  EXPECT_NE(PartFromFrame(small).data(), small.bytes().data());
}

TEST(PartFromFrameTest, CopiesFramesThatNobodyOwns) {
  const std::vector<std::byte> bytes(2000, std::byte{'x'});
  const zmq::message_t part = PartFromFrame(MessageFrame(nullptr, bytes));
  EXPECT_NE(part.data(), bytes.data());
  EXPECT_EQ(part.size(), 2000u);
}

TEST(FrameFromPartTest, KeepsTheMemoryOfALargePart) {
  zmq::message_t part(4096);
  std::memset(part.data(), 'y', part.size());
  const void* data = part.data();
  const MessageFrame frame = FrameFromPart(std::move(part));
  EXPECT_EQ(frame.bytes().data(), data);
  EXPECT_EQ(frame.text(), std::string(4096, 'y'));
}

TEST(FrameFromPartTest, CopiesAnUnalignedPartOnce) {
  std::vector<char> bytes(4097, 'z');
  zmq::message_t part(bytes.data() + 1, 4096, nullptr);
  const MessageFrame frame = FrameFromPart(std::move(part));
  EXPECT_NE(static_cast<const void*>(frame.bytes().data()), bytes.data() + 1);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.bytes().data()) % 8, 0u);
  EXPECT_EQ(frame.text(), std::string(4096, 'z'));
}

TEST(FrameFromPartTest, CarriesEmptyParts) {
  EXPECT_EQ(FrameFromPart(zmq::message_t()).size(), 0u);
}

TEST(WaitDeadlineTest, RoundsUpAndNeverGoesNegative) {
  EXPECT_EQ(WaitDeadline(absl::ZeroDuration()).LeftMs(), 0);
  EXPECT_EQ(WaitDeadline(-absl::Seconds(5)).LeftMs(), 0);
  EXPECT_EQ(WaitDeadline(-absl::InfiniteDuration()).LeftMs(), 0);
  EXPECT_EQ(WaitDeadline(absl::InfiniteDuration()).LeftMs(), -1);
  const int64_t left = WaitDeadline(absl::Hours(1)).LeftMs();
  EXPECT_GT(left, 3500000);
  EXPECT_LE(left, 3600000);
}

}  // namespace
}  // namespace flywheel
