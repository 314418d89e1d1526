#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace flywheel {

// Bytes of one frame of a message; copying shares them. Received frames hold
// ZeroMQ's memory, so nothing is copied on the way from the socket to a tensor.
class MessageFrame {
 public:
  MessageFrame() = default;

  // Takes `bytes` over.
  explicit MessageFrame(std::vector<std::byte> bytes);

  // Copies `text`: for small control messages.
  explicit MessageFrame(std::string_view text);

  // Shares memory that `owner` keeps alive.
  MessageFrame(std::shared_ptr<const void> owner,
               std::span<const std::byte> bytes)
      : owner_(std::move(owner)), bytes_(bytes) {}

  std::span<const std::byte> bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()};
  }
  std::size_t size() const { return bytes_.size(); }
  const std::shared_ptr<const void>& owner() const { return owner_; }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
};

}  // namespace flywheel
