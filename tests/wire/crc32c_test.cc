#include "services/wire/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

namespace flywheel {
namespace {

std::span<const std::byte> Bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// One bit at a time, straight from the definition.
uint32_t BitwiseCrc32c(std::span<const std::byte> bytes) {
  uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
    }
  }
  return ~crc;
}

TEST(Crc32cTest, HasTheCheckValue) {
  EXPECT_EQ(Crc32c(Bytes("123456789")), 0xE3069283);
  EXPECT_EQ(Crc32c({}), 0u);
}

// RFC 3720 (iSCSI), appendix B.4.
TEST(Crc32cTest, HasTheValuesOfTheIscsiStandard) {
  std::vector<std::byte> bytes(32, std::byte{0});
  EXPECT_EQ(Crc32c(bytes), 0x8a9136aa);
  bytes.assign(32, std::byte{0xff});
  EXPECT_EQ(Crc32c(bytes), 0x62a8ab43);
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(Crc32c(bytes), 0x46dd794e);
  for (int i = 0; i < 32; ++i) bytes[i] = static_cast<std::byte>(31 - i);
  EXPECT_EQ(Crc32c(bytes), 0x113fdb5c);
}

TEST(Crc32cTest, EqualsTheDefinitionAtEveryLengthAndAlignment) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(5000);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t size = 0; size < 300; ++size) {
    const auto piece = std::span(bytes).subspan(size % 64, size);
    ASSERT_EQ(Crc32c(piece), BitwiseCrc32c(piece)) << size;
  }
  for (int i = 0; i < 300; ++i) {
    const std::size_t begin = random() % bytes.size();
    const auto piece =
        std::span(bytes).subspan(begin, random() % (bytes.size() - begin));
    ASSERT_EQ(Crc32c(piece), BitwiseCrc32c(piece)) << begin;
  }
}

TEST(Crc32cTest, ContinuesWhereAPieceEnded) {
  for (std::size_t cut = 0; cut <= 9; ++cut) {
    const auto bytes = Bytes("123456789");
    EXPECT_EQ(Crc32c(bytes.subspan(cut), Crc32c(bytes.first(cut))), 0xE3069283);
  }
}

}  // namespace
}  // namespace flywheel
