#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "services/core/clock.h"
#include "services/core/trajectory_schema.h"
#include "services/wire/data_messages.h"
#include "services/wire/dealer_channel.h"

namespace flywheel {

// The learner's end of the exchange of buffer.proto: asks for the lists of
// train steps and for demonstrations, and repeats each question until it is
// answered.
//
// Every method that waits gives up with Cancelled once `stop` is requested.
// Not thread-safe: owns a ZeroMQ socket.
class DataClient {
 public:
  struct Options {
    uint64_t rank = 0;
    uint64_t incarnation = 0;
    absl::Duration repeat_after = absl::Seconds(1);
  };

  DataClient(DealerChannel channel, const Options& options,
             std::stop_token stop);

  // Says which train step comes next and waits until the buffer knows the
  // schema, which the first rollout brings.
  absl::StatusOr<TrajectorySchema> AwaitSchema(int64_t next_train_step);

  // Waits for the list of train step `step`: its records, in list order. A
  // buffer that was restarted meanwhile is told where training stands.
  absl::StatusOr<std::vector<MessageFrame>> Take(int64_t step,
                                                 double waited_share);

  // Waits until `table` holds `min_items`, then draws `n` of its records. A
  // buffer that was restarted meanwhile is told where training stands.
  absl::StatusOr<std::vector<MessageFrame>> Sample(const std::string& table,
                                                   uint32_t n,
                                                   uint64_t min_items);

  // As Sample(), but nullopt once `deadline` has passed; and says how many
  // items the table holds.
  struct Drawn {
    std::vector<MessageFrame> records;
    uint64_t table_items = 0;
  };
  absl::StatusOr<std::optional<Drawn>> SampleUntil(const std::string& table,
                                                   uint32_t n,
                                                   uint64_t min_items,
                                                   absl::Time deadline);

  // Lists of steps before `step` will not be asked for again.
  void ReleaseBefore(int64_t step);

 private:
  struct Answer {
    FromBuffer message;
    std::vector<MessageFrame> records;
  };

  template <typename Message>
  void Send(Message message);

  // Waits at most `repeat_after` for one message; nullopt if none came.
  absl::StatusOr<std::optional<Answer>> Hear();

  DealerChannel channel_;
  const Options options_;
  const std::stop_token stop_;
  const MonotonicClock clock_;
  int64_t next_train_step_ = 0;  // Where training stands.
  uint64_t next_request_ = 0;
  bool sent_ = false;  // The last question found a connection.
};

}  // namespace flywheel
