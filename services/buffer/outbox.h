#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "services/buffer/rejection.h"
#include "services/wire/data_messages.h"
#include "services/wire/message_frame.h"

namespace flywheel {

// What the buffer says to its peers. Every message may be lost: the peers ask
// again for what they do not get.
//
// Not thread-safe.
class Outbox {
 public:
  // Sends one message without waiting; a RouterChannel's Send().
  using Sender = std::function<absl::Status(
      const std::string& peer, const std::vector<MessageFrame>& frames)>;

  Outbox(uint64_t buffer_incarnation, Sender sender)
      : incarnation_(buffer_incarnation), sender_(std::move(sender)) {}

  // False if it certainly did not leave.
  template <typename Message>
  bool Send(const std::string& peer, Message message,
            const std::vector<MessageFrame>& records = {}) {
    return SendEnvelope(
        peer,
        {.buffer_incarnation = incarnation_, .message = std::move(message)},
        records);
  }

  // Says that a message broke a rule, and counts it.
  void Refuse(const std::string& peer, const Rejection& rejection);

  // Messages refused so far, by reason.
  const std::map<std::string, int64_t>& refusals() const { return refusals_; }

 private:
  bool SendEnvelope(const std::string& peer, const FromBuffer& message,
                    const std::vector<MessageFrame>& records);

  // Constant after construction.
  const uint64_t incarnation_;
  const Sender sender_;

  std::map<std::string, int64_t> refusals_;
};

}  // namespace flywheel
