#include "services/wire/router_channel.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/unix_listener.h"
#include "services/wire/zmq_socket_channel.h"

namespace flywheel {

// Declared in this order so that the socket closes before its file goes.
struct RouterChannel::Socket {
  std::string endpoint;
  std::size_t max_frames = 0;
  std::optional<UnixListener> listener;
  zmq::socket_t socket;

  absl::Status Error(const zmq::error_t& error) const {
    return absl::UnavailableError(
        absl::StrCat("endpoint \"", endpoint, "\": ZeroMQ: ", error.what()));
  }
};

namespace {

// The path of "ipc:///run/x.data"; nullopt for endpoints without a file of
// ours: tcp, and ipc names that are abstract ("@") or made up by ZeroMQ ("*").
std::optional<std::string> SocketPath(const std::string& endpoint) {
  constexpr std::string_view kIpc = "ipc://";
  if (!endpoint.starts_with(kIpc)) return std::nullopt;
  std::string path = endpoint.substr(kIpc.size());
  if (path.starts_with('@') || path == "*") return std::nullopt;
  return path;
}

zmq::socket_t BoundSocket(ZmqContext& context,
                          const RouterChannel::Options& options,
                          std::optional<UnixListener>& listener) {
  zmq::socket_t socket =
      OpenSocket(context, zmq::socket_type::router, options.max_message_bytes,
                 options.high_water_mark);
  socket.set(zmq::sockopt::router_mandatory, true);
  socket.set(zmq::sockopt::router_handover, true);
  if (listener.has_value()) {
    socket.set(zmq::sockopt::use_fd, listener->Release());  // Closed by ZeroMQ.
  }
  socket.bind(options.endpoint);
  return socket;
}

}  // namespace

absl::StatusOr<RouterChannel> RouterChannel::Bind(ZmqContext& context,
                                                  const Options& options) {
  FLYWHEEL_RETURN_IF_ERROR(CheckSocketOptions(
      options.endpoint, options.max_message_bytes, options.high_water_mark));
  if (options.max_frames < 1) {
    return absl::InvalidArgumentError("max_frames must be >= 1, got 0");
  }
  std::optional<UnixListener> listener;
  if (const std::optional<std::string> path = SocketPath(options.endpoint)) {
    absl::StatusOr<UnixListener> listening = UnixListener::Listen(*path);
    if (!listening.ok()) return listening.status();
    listener.emplace(*std::move(listening));
  }
  try {
    zmq::socket_t socket = BoundSocket(context, options, listener);
    std::string endpoint = socket.get(zmq::sockopt::last_endpoint);
    return RouterChannel(std::make_unique<Socket>(
        Socket{std::move(endpoint), options.max_frames, std::move(listener),
               std::move(socket)}));
  } catch (const zmq::error_t& error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot bind endpoint \"", options.endpoint, "\": ", error.what()));
  }
}

RouterChannel::RouterChannel(std::unique_ptr<Socket> socket)
    : socket_(std::move(socket)) {}
RouterChannel::RouterChannel(RouterChannel&&) noexcept = default;
RouterChannel& RouterChannel::operator=(RouterChannel&&) noexcept = default;
RouterChannel::~RouterChannel() = default;

const std::string& RouterChannel::endpoint() const { return socket_->endpoint; }

absl::Status RouterChannel::Send(const std::string& peer,
                                 const std::vector<MessageFrame>& frames) try {
  if (frames.empty()) {
    return absl::InvalidArgumentError("a message must have at least one frame");
  }
  if (!SendPart(socket_->socket, zmq::message_t(peer.data(), peer.size()),
                /*more=*/true)) {
    return absl::UnavailableError(absl::StrCat("endpoint \"", socket_->endpoint,
                                               "\": the queue of peer \"", peer,
                                               "\" is full"));
  }
  // Once it took the name, ZeroMQ takes the rest, even if only to drop it.
  SendFrames(socket_->socket, frames);
  return absl::OkStatus();
} catch (const zmq::error_t& error) {
  if (error.num() != EHOSTUNREACH) return socket_->Error(error);
  return absl::NotFoundError(absl::StrCat("endpoint \"", socket_->endpoint,
                                          "\": peer \"", peer,
                                          "\" is not connected"));
}

absl::StatusOr<std::optional<PeerMessage>> RouterChannel::Receive(
    absl::Duration timeout) try {
  const WaitDeadline deadline(timeout);
  do {
    zmq::message_t name;
    if (!ReceivePart(socket_->socket, name)) continue;
    std::optional<std::vector<MessageFrame>> frames =
        ReceiveFrames(socket_->socket, socket_->max_frames);
    if (!frames.has_value()) continue;
    return PeerMessage{name.to_string(), *std::move(frames)};
  } while (WaitToReceive(socket_->socket, deadline));
  return std::nullopt;
} catch (const zmq::error_t& error) {
  return socket_->Error(error);
}

}  // namespace flywheel
