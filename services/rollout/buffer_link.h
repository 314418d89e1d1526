#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "services/core/clock.h"
#include "services/core/credit.h"
#include "services/wire/data_messages.h"
#include "services/wire/dealer_channel.h"

namespace flywheel {

// What the buffer told the rollout since the last Poll().
struct BufferNews {
  std::vector<Credit> grants;
  std::vector<uint64_t> called_in;  // Credits: cut there and deliver.
  std::vector<uint64_t> revoked;    // Credits: forget what was collected.
  bool buffer_restarted = false;    // Every credit held before is void.
};

// The rollout's end of the exchange of buffer.proto.
//
// Deliveries are numbered and kept until acknowledged; what a broken connection
// or a restarted buffer lost is sent again, and the numbers let the buffer
// count each once. Requests are repeated until they are granted, so nothing is
// lost by losing a message.
//
// Not thread-safe: owns a ZeroMQ socket.
class BufferLink {
 public:
  struct Options {
    uint64_t worker = 0;
    uint64_t incarnation = 0;
    TrajectorySchema schema;
    uint64_t first_environment = 0;
    uint64_t num_environments = 0;
    absl::Duration repeat_after = absl::Seconds(1);  // Without any answer.
  };

  // `channel` is connected to the buffer; `clock` must outlive the link.
  BufferLink(DealerChannel channel, const Options& options, const Clock& clock);

  // Asks for one credit for each of `environments`, now and until granted.
  void Request(const std::vector<uint64_t>& environments);

  // The rollout acts with `version` from now on.
  void ActWith(PolicyVersion version);

  // Hands in all trajectories of `credit`; none returns it.
  void Deliver(uint64_t credit, std::vector<MessageFrame> records,
               absl::Duration collected_in);

  // Takes what has arrived, waiting at most `timeout` for the first message,
  // and repeats what is overdue. Aborted: this incarnation is fenced;
  // InvalidArgument: the buffer refused the schema. The process must end.
  absl::Status Poll(absl::Duration timeout, BufferNews& news);

  // Deliveries not yet acknowledged.
  std::size_t unacknowledged() const { return unacknowledged_.size(); }

  // Trajectories the buffer refused, by its reason.
  const std::map<std::string, int64_t>& refused() const { return refused_; }

  void set_environment_step_seconds(double seconds) {
    environment_step_seconds_ = seconds;
  }

  DealerChannel& channel() { return channel_; }

 private:
  struct Pending {
    uint64_t sequence = 0;
    std::size_t num_records = 0;
    std::vector<MessageFrame> frames;
  };

  template <typename Message>
  ToBuffer Envelope(Message message) const;
  void Send(const ToBuffer& message);
  void SayHello();
  void RepeatOverdue();
  absl::Status Apply(const FromBuffer& message, BufferNews& news);
  void ForgetDeliveries();
  void Apply(const Welcome& welcome);
  void Apply(const Acknowledgment& acknowledgment);
  absl::Status Apply(const Refusal& refusal);

  DealerChannel channel_;
  const Options options_;
  const Clock& clock_;

  bool welcome_ = false;
  uint64_t buffer_incarnation_ = 0;  // 0: none heard of yet.
  int64_t acting_version_ = -1;
  double environment_step_seconds_ = 0;
  uint64_t last_sequence_ = 0;
  std::map<uint64_t, absl::Time> requested_;  // By environment: when last.
  std::deque<Pending> unacknowledged_;        // Oldest first.
  bool sent_ = false;  // The last message found a connection.
  absl::Time last_sent_;
  absl::Time last_heard_;
  std::map<std::string, int64_t> refused_;
};

}  // namespace flywheel
