#include "services/buffer/outbox.h"

#include "services/wire/data_codec.h"

namespace flywheel {

void Outbox::Refuse(const std::string& peer, const Rejection& rejection) {
  ++refusals_[rejection.reason];
  Send(peer, Refusal{.reason = rejection.reason, .message = rejection.message});
}

bool Outbox::SendEnvelope(const std::string& peer, const FromBuffer& message,
                          const std::vector<MessageFrame>& records) {
  std::vector<MessageFrame> frames;
  frames.reserve(1 + records.size());
  frames.emplace_back(FromBufferBytes(message));
  frames.insert(frames.end(), records.begin(), records.end());
  return sender_(peer, frames).ok();
}

}  // namespace flywheel
