#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/wire/message_frame.h"
#include "services/wire/zmq_context_channel.h"

namespace flywheel {

// What a router received, and from whom.
struct PeerMessage {
  std::string peer;  // The dealer's identity.
  std::vector<MessageFrame> frames;
};

// One end of conversations with many DealerChannels: the end that binds.
//
// Not thread-safe: a ZeroMQ socket belongs to one thread.
class RouterChannel {
 public:
  struct Options {
    std::string endpoint;  // "ipc:///run/x/buffer-0.data", "tcp://127.0.0.1:*".
    std::size_t max_message_bytes =
        std::size_t{1} << 30;        // Of one frame; a
                                     // peer that sends more is disconnected.
    std::size_t max_frames = 65536;  // Of one message; more are discarded.
    int high_water_mark = 1024;      // Messages queued per peer and direction.
  };

  // InvalidArgument for an endpoint that cannot be bound. An ipc socket file
  // that a dead process left behind is replaced. `context` must outlive it.
  static absl::StatusOr<RouterChannel> Bind(ZmqContext& context,
                                            const Options& options);

  RouterChannel(RouterChannel&&) noexcept;
  RouterChannel& operator=(RouterChannel&&) noexcept;
  ~RouterChannel();  // Unlinks an ipc socket file.

  // Where it listens, with the port the system chose.
  const std::string& endpoint() const;

  // Sends one message without waiting. NotFound if `peer` is not connected,
  // Unavailable if its queue is full: nothing was sent.
  absl::Status Send(const std::string& peer,
                    const std::vector<MessageFrame>& frames);

  // Waits at most `timeout`, rounded up to milliseconds, for a message; nullopt
  // if none came.
  absl::StatusOr<std::optional<PeerMessage>> Receive(absl::Duration timeout);

 private:
  struct Socket;
  explicit RouterChannel(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
};

}  // namespace flywheel
