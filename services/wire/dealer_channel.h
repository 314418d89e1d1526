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

// One end of a conversation with a RouterChannel: the end that connects.
//
// Reconnects by itself; what was on its way when a connection broke is lost, so
// protocols above it number and repeat. Sending never queues for a peer that is
// not there.
//
// Not thread-safe: a ZeroMQ socket belongs to one thread.
class DealerChannel {
 public:
  struct Options {
    std::string endpoint;  // "ipc:///run/x/buffer-0.data", "tcp://host:7002".
    std::string
        identity;  // Unique among the router's peers; at most 255 bytes.
    std::size_t max_message_bytes = std::size_t{1} << 30;  // Of one frame.
    int high_water_mark = 1024;  // Messages queued per direction.
  };

  // InvalidArgument for an endpoint or identity that cannot work. `context`
  // must outlive the channel.
  static absl::StatusOr<DealerChannel> Connect(ZmqContext& context,
                                               const Options& options);

  DealerChannel(DealerChannel&&) noexcept;
  DealerChannel& operator=(DealerChannel&&) noexcept;
  ~DealerChannel();

  // Sends one message of several frames without waiting. Unavailable if there
  // is no connection or its queue is full: nothing was sent.
  absl::Status Send(const std::vector<MessageFrame>& frames);

  // Waits at most `timeout`, rounded up to milliseconds, for a message; nullopt
  // if none came.
  absl::StatusOr<std::optional<std::vector<MessageFrame>>> Receive(
      absl::Duration timeout);

  // Waits at most `timeout` until one of `channels` can be received from.
  static void WaitAny(const std::vector<DealerChannel*>& channels,
                      absl::Duration timeout);

 private:
  struct Socket;
  explicit DealerChannel(std::unique_ptr<Socket> socket);
  std::unique_ptr<Socket> socket_;
};

}  // namespace flywheel
