#include "services/wire/message_frame.h"

#include <utility>

namespace flywheel {
namespace {

std::vector<std::byte> CopyOf(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

}  // namespace

MessageFrame::MessageFrame(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  bytes_ = *owner;
  owner_ = std::move(owner);
}

MessageFrame::MessageFrame(std::string_view text)
    : MessageFrame(CopyOf(text)) {}

}  // namespace flywheel
