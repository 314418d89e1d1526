#include "services/wire/zmq_socket_channel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

// Below it a copy costs less than shared ownership, and a small frame must not
// keep ZeroMQ's whole receive buffer alive.
constexpr std::size_t kShareFromBytes = 1024;

// What a record's reader relies on.
constexpr std::size_t kFrameAlignment = 8;

constexpr int kHeartbeatIntervalMs = 2000;
constexpr int kHeartbeatTimeoutMs = 6000;  // Then the connection is closed.
constexpr int kLingerMs = 1000;            // For what a closing socket queued.

// Keeps a frame's bytes alive while ZeroMQ sends them, on its own thread.
// ZeroMQ orders what both threads do; `handed_over` says so once more, in a way
// that ThreadSanitizer sees although libzmq is not instrumented.
struct SentFrame {
  std::shared_ptr<const void> owner;
  std::atomic<bool> handed_over = false;
};

// Runs on any thread, once ZeroMQ is done with the bytes.
void ReleaseSentFrame(void* /*data*/, void* hint) {
  auto* frame = static_cast<SentFrame*>(hint);
  (void)frame->handed_over.load(std::memory_order_acquire);
  delete frame;
}

absl::Status CheckPort(const std::string& endpoint) {
  if (!endpoint.starts_with("tcp://")) return absl::OkStatus();
  const std::string port = endpoint.substr(endpoint.rfind(':') + 1);
  int number = 0;
  if (port == "*" ||
      (absl::SimpleAtoi(port, &number) && number >= 1 && number <= 65535)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("endpoint \"", endpoint,
                   "\": port must be 1 to 65535, got \"", port, "\""));
}

}  // namespace

absl::Status CheckSocketOptions(const std::string& endpoint,
                                std::size_t max_message_bytes,
                                int high_water_mark) {
  FLYWHEEL_RETURN_IF_ERROR(CheckPort(endpoint));
  if (max_message_bytes < 1 ||
      max_message_bytes > std::numeric_limits<int64_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_message_bytes must be 1 to 2^63 - 1, got ", max_message_bytes));
  }
  if (high_water_mark < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("high_water_mark must be >= 1, got ", high_water_mark));
  }
  return absl::OkStatus();
}

zmq::socket_t OpenSocket(ZmqContext& context, zmq::socket_type type,
                         std::size_t max_message_bytes, int high_water_mark) {
  zmq::socket_t socket(*static_cast<zmq::context_t*>(context.handle()), type);
  socket.set(zmq::sockopt::maxmsgsize, static_cast<int64_t>(max_message_bytes));
  socket.set(zmq::sockopt::sndhwm, high_water_mark);
  socket.set(zmq::sockopt::rcvhwm, high_water_mark);
  socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatIntervalMs);
  socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::heartbeat_ttl, kHeartbeatTimeoutMs);
  socket.set(zmq::sockopt::linger, kLingerMs);
  return socket;
}

WaitDeadline::WaitDeadline(absl::Duration timeout) {
  // A year is as good as forever, and cannot overflow the clock.
  if (timeout > absl::Hours(24 * 365)) return;
  end_ = std::chrono::steady_clock::now() +
         absl::ToChronoNanoseconds(std::max(timeout, absl::ZeroDuration()));
}

int64_t WaitDeadline::LeftMs() const {
  if (!end_.has_value()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(
      *end_ - std::chrono::steady_clock::now());
  return std::max<int64_t>(left.count(), 0);
}

bool WaitForAny(std::span<zmq::pollitem_t> items,
                const WaitDeadline& deadline) {
  while (true) {
    const int64_t left_ms = deadline.LeftMs();
    const int ready = zmq_poll(items.data(), static_cast<int>(items.size()),
                               static_cast<long>(left_ms));
    if (ready > 0) return true;
    if (ready < 0 && zmq_errno() != EINTR) throw zmq::error_t();
    if (left_ms == 0) return false;
  }
}

bool WaitToReceive(zmq::socket_t& socket, const WaitDeadline& deadline) {
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  return WaitForAny({&item, 1}, deadline);
}

bool ReceivePart(zmq::socket_t& socket, zmq::message_t& part) {
  while (true) {
    if (zmq_msg_recv(part.handle(), socket.handle(), ZMQ_DONTWAIT) >= 0) {
      return true;
    }
    if (zmq_errno() == EAGAIN) return false;
    if (zmq_errno() != EINTR) throw zmq::error_t();
  }
}

std::optional<std::vector<MessageFrame>> ReceiveFrames(zmq::socket_t& socket,
                                                       std::size_t max_frames) {
  std::vector<MessageFrame> frames;
  bool too_many = false;
  bool more = true;
  while (more) {
    zmq::message_t part;
    if (!ReceivePart(socket, part)) return std::nullopt;
    more = part.more();
    if (frames.size() == max_frames) {
      too_many = true;
      frames.clear();
    }
    if (!too_many) frames.push_back(FrameFromPart(std::move(part)));
  }
  if (too_many) return std::nullopt;
  return frames;
}

bool SendPart(zmq::socket_t& socket, zmq::message_t part, bool more) {
  const int flags = ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0);
  while (true) {
    if (zmq_msg_send(part.handle(), socket.handle(), flags) >= 0) return true;
    if (zmq_errno() == EAGAIN) return false;
    if (zmq_errno() != EINTR) throw zmq::error_t();
  }
}

bool SendFrames(zmq::socket_t& socket, std::span<const MessageFrame> frames) {
  bool sent = true;
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const bool more = i + 1 < frames.size();
    sent &= SendPart(socket, PartFromFrame(frames[i]), more);
    // ZeroMQ takes a message whole: only the first part can find no room. A
    // later one fails if the connection broke; ZeroMQ then swallows the parts
    // that follow, and they must be sent so that it sees where they end.
    if (!sent && i == 0) return false;
  }
  return sent;
}

zmq::message_t PartFromFrame(const MessageFrame& frame) {
  if (frame.size() < kShareFromBytes || frame.owner() == nullptr) {
    return zmq::message_t(frame.bytes().data(), frame.size());
  }
  auto sent = std::make_unique<SentFrame>();
  sent->owner = frame.owner();
  // ZeroMQ only reads it.
  auto* data = const_cast<std::byte*>(frame.bytes().data());
  zmq::message_t part(data, frame.size(), ReleaseSentFrame, sent.get());
  sent.release()->handed_over.store(true, std::memory_order_release);
  return part;
}

MessageFrame FrameFromPart(zmq::message_t part) {
  const auto* data = part.data<std::byte>();
  const bool aligned =
      reinterpret_cast<std::uintptr_t>(data) % kFrameAlignment == 0;
  if (part.size() < kShareFromBytes || !aligned) {
    return MessageFrame(std::vector<std::byte>(data, data + part.size()));
  }
  auto owner = std::make_shared<zmq::message_t>(std::move(part));
  const std::span<const std::byte> bytes{owner->data<std::byte>(),
                                         owner->size()};
  return MessageFrame(std::move(owner), bytes);
}

}  // namespace flywheel
