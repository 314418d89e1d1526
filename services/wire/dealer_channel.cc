#include "services/wire/dealer_channel.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/zmq_socket_channel.h"

namespace flywheel {

struct DealerChannel::Socket {
  std::string endpoint;
  zmq::socket_t socket;

  absl::Status Error(const zmq::error_t& error) const {
    return absl::UnavailableError(
        absl::StrCat("endpoint \"", endpoint, "\": ZeroMQ: ", error.what()));
  }
};

namespace {

constexpr std::size_t kMaxIdentityBytes = 255;

// Between attempts to reconnect: from the first, doubled up to the second.
constexpr int kReconnectIntervalMs = 20;
constexpr int kReconnectIntervalMaxMs = 500;

absl::Status CheckIdentity(const std::string& identity) {
  if (identity.empty() || identity.size() > kMaxIdentityBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("identity must have 1 to ", kMaxIdentityBytes,
                     " bytes, got ", identity.size()));
  }
  if (identity.front() == '\0') {
    return absl::InvalidArgumentError(
        "identity must not begin with a zero byte, which marks the names that "
        "ZeroMQ makes up");
  }
  return absl::OkStatus();
}

zmq::socket_t ConnectedSocket(ZmqContext& context,
                              const DealerChannel::Options& options) {
  zmq::socket_t socket =
      OpenSocket(context, zmq::socket_type::dealer, options.max_message_bytes,
                 options.high_water_mark);
  socket.set(zmq::sockopt::routing_id, options.identity);
  socket.set(zmq::sockopt::immediate, true);
  socket.set(zmq::sockopt::reconnect_ivl, kReconnectIntervalMs);
  socket.set(zmq::sockopt::reconnect_ivl_max, kReconnectIntervalMaxMs);
  socket.connect(options.endpoint);
  return socket;
}

}  // namespace

absl::StatusOr<DealerChannel> DealerChannel::Connect(ZmqContext& context,
                                                     const Options& options) {
  FLYWHEEL_RETURN_IF_ERROR(CheckIdentity(options.identity));
  FLYWHEEL_RETURN_IF_ERROR(CheckSocketOptions(
      options.endpoint, options.max_message_bytes, options.high_water_mark));
  try {
    return DealerChannel(std::make_unique<Socket>(
        Socket{options.endpoint, ConnectedSocket(context, options)}));
  } catch (const zmq::error_t& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot connect identity \"", options.identity, "\" to endpoint \"",
        options.endpoint, "\": ", error.what()));
  }
}

DealerChannel::DealerChannel(std::unique_ptr<Socket> socket)
    : socket_(std::move(socket)) {}
DealerChannel::DealerChannel(DealerChannel&&) noexcept = default;
DealerChannel& DealerChannel::operator=(DealerChannel&&) noexcept = default;
DealerChannel::~DealerChannel() = default;

absl::Status DealerChannel::Send(const std::vector<MessageFrame>& frames) try {
  if (frames.empty()) {
    return absl::InvalidArgumentError("a message must have at least one frame");
  }
  if (!SendFrames(socket_->socket, frames)) {
    return absl::UnavailableError(
        absl::StrCat("endpoint \"", socket_->endpoint,
                     "\": no connection, or its queue is full"));
  }
  return absl::OkStatus();
} catch (const zmq::error_t& error) {
  return socket_->Error(error);
}

absl::StatusOr<std::optional<std::vector<MessageFrame>>> DealerChannel::Receive(
    absl::Duration timeout) try {
  const WaitDeadline deadline(timeout);
  do {
    std::optional<std::vector<MessageFrame>> frames =
        ReceiveFrames(socket_->socket, kMaxFrames);
    if (frames.has_value()) return frames;
  } while (WaitToReceive(socket_->socket, deadline));
  return std::nullopt;
} catch (const zmq::error_t& error) {
  return socket_->Error(error);
}

void DealerChannel::WaitAny(const std::vector<DealerChannel*>& channels,
                            absl::Duration timeout) try {
  std::vector<zmq::pollitem_t> items;
  items.reserve(channels.size());
  for (const DealerChannel* channel : channels) {
    items.push_back({channel->socket_->socket.handle(), 0, ZMQ_POLLIN, 0});
  }
  if (!items.empty()) WaitForAny(items, WaitDeadline(timeout));
} catch (const zmq::error_t&) {
  // The channel that is broken says so when it is received from.
}

}  // namespace flywheel
