#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace flywheel {

// Takes the next piece of an image, e.g. to write it to a file.
using ByteSink = absl::FunctionRef<absl::Status(std::span<const std::byte>)>;

// Numbers and texts as bytes: little-endian, or in seven bits a byte where
// small numbers are usual. Not thread-safe.
class ByteWriter {
 public:
  void Byte(uint8_t value) { bytes_.push_back(static_cast<std::byte>(value)); }
  void Fixed32(uint32_t value) { Fixed(value); }
  void Fixed64(uint64_t value) { Fixed(value); }
  void Double(double value);
  void Varint(uint64_t value);
  // A number that is close to the one before it.
  void Difference(uint64_t before, uint64_t value);
  void Text(std::string_view text);

  std::size_t size() const { return bytes_.size(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<std::byte> Take() { return std::exchange(bytes_, {}); }
  void Clear() { bytes_.clear(); }

 private:
  template <typename T>
  void Fixed(T value) {
    std::byte* to = Extend(sizeof(T));
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      to[i] = static_cast<std::byte>(value >> (8 * i));
    }
  }

  // Room for so many bytes more.
  std::byte* Extend(std::size_t size) {
    const std::size_t before = bytes_.size();
    bytes_.resize(before + size);
    return bytes_.data() + before;
  }

  std::vector<std::byte> bytes_;
};

// Reads what ByteWriter wrote; survives any bytes. After the first thing that
// is not there, ok() is false and all that follows reads as zero.
//
// The bytes must outlive it. Not thread-safe.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint8_t Byte();
  uint32_t Fixed32() { return static_cast<uint32_t>(Fixed(4)); }
  uint64_t Fixed64() { return Fixed(8); }
  double Double();
  uint64_t Varint();
  // Fails above `max`.
  uint64_t Varint(uint64_t max);
  uint64_t Difference(uint64_t before);
  std::string Text(std::size_t bytes_max);

  bool ok() const { return ok_; }
  void Fail() { ok_ = false; }
  std::size_t left() const { return ok_ ? bytes_.size() : 0; }

 private:
  uint64_t Fixed(std::size_t size);
  std::span<const std::byte> Take(std::size_t size);

  std::span<const std::byte> bytes_;
  bool ok_ = true;
};

// Writes an image in pieces, with a checksum behind them. Not thread-safe.
class ImageWriter {
 public:
  // `sink` must outlive this object.
  explicit ImageWriter(ByteSink sink) : sink_(sink) {}

  ByteWriter& bytes() { return bytes_; }

  // To be called now and then: passes on what has gathered, once it is enough.
  // After an error of the sink there is no more to pass on, and Finish() tells.
  void MayFlush() {
    if (bytes_.size() >= kPieceBytes) Flush();
  }

  absl::Status Finish();

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;

  void Flush();

  const ByteSink sink_;
  ByteWriter bytes_;
  uint32_t crc_ = 0;
  absl::Status status_;
};

// The bytes of an image without their checksum. DataLoss if it does not match.
absl::StatusOr<std::span<const std::byte>> ImageContent(
    std::span<const std::byte> image);

}  // namespace flywheel
