#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>
#include <zmq.hpp>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/wire/message_frame.h"
#include "services/wire/zmq_context_channel.h"

namespace flywheel {

// What DealerChannel and RouterChannel share: how ZeroMQ sockets are set up,
// waited for, and how frames pass through them. Functions here throw
// zmq::error_t; the channels catch it.

// Frames of one message, unless a channel says otherwise.
inline constexpr std::size_t kMaxFrames = 65536;

// InvalidArgument, naming the option, for limits that would mean "unlimited",
// and for a port that ZeroMQ would cut to 16 bits.
absl::Status CheckSocketOptions(const std::string& endpoint,
                                std::size_t max_message_bytes,
                                int high_water_mark);

// A socket with limits, with heartbeats that find half-open links, and with a
// bounded time to linger. REQUIRES: CheckSocketOptions().ok().
zmq::socket_t OpenSocket(ZmqContext& context, zmq::socket_type type,
                         std::size_t max_message_bytes, int high_water_mark);

// When a wait ends. Infinite durations never do.
class WaitDeadline {
 public:
  explicit WaitDeadline(absl::Duration timeout);

  // Milliseconds left, rounded up; 0 if it has passed, -1 for never.
  int64_t LeftMs() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> end_;
};

// Waits until one of `items` is ready; false if the deadline passed first.
bool WaitForAny(std::span<zmq::pollitem_t> items, const WaitDeadline& deadline);
bool WaitToReceive(zmq::socket_t& socket, const WaitDeadline& deadline);

// Receives one part without waiting; false if there is none.
bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part);

// Receives the parts of a message that is there as frames. Nullopt if there is
// none, or if it had more than `max_frames`: then it is gone.
std::optional<std::vector<MessageFrame>> ReceiveFrames(zmq::socket_t& socket,
                                                       std::size_t max_frames);

// Sends one part without waiting; false if the socket cannot take it now.
bool SendPart(zmq::socket_t& socket, zmq::message_t part, bool more);

// Sends `frames` as the rest of a message, without waiting; false if not.
bool SendFrames(zmq::socket_t& socket, std::span<const MessageFrame> frames);

// Large frames share their memory with ZeroMQ in both directions.
zmq::message_t PartFromFrame(const MessageFrame& frame);
MessageFrame FrameFromPart(zmq::message_t part);

}  // namespace flywheel
