#include "services/learner/data_client.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/wire/data_codec.h"

namespace flywheel {
namespace {

constexpr absl::Duration kStopCheck = absl::Milliseconds(100);
constexpr absl::Duration kSchemaPause = absl::Milliseconds(20);
constexpr absl::Duration kRetryUnsent = absl::Milliseconds(20);

}  // namespace

DataClient::DataClient(DealerChannel channel, const Options& options,
                       std::stop_token stop)
    : channel_(std::move(channel)), options_(options), stop_(std::move(stop)) {}

absl::StatusOr<TrajectorySchema> DataClient::AwaitSchema(
    int64_t next_train_step) {
  next_train_step_ = next_train_step;
  while (true) {
    Send(LearnerHello{.next_train_step = next_train_step});
    const auto answer = Hear();
    if (!answer.ok()) return answer.status();
    if (!answer->has_value()) continue;
    const auto* welcome =
        std::get_if<LearnerWelcome>(&(*answer)->message.message);
    if (welcome == nullptr) continue;
    if (welcome->schema.has_value()) return *welcome->schema;
    // No rollout has said hello yet: asked again after a short pause.
    if (const auto early = channel_.Receive(kSchemaPause); !early.ok()) {
      return early.status();
    }
  }
}

absl::StatusOr<std::vector<MessageFrame>> DataClient::Take(
    int64_t step, double waited_share) {
  next_train_step_ = step;
  Send(TakeRequest{.step = step, .waited_share = waited_share});
  while (true) {
    auto answer = Hear();
    if (!answer.ok()) return answer.status();
    if (!answer->has_value()) {
      // Silent: perhaps another life of the buffer, which does not know us.
      Send(LearnerHello{.next_train_step = step});
      Send(TakeRequest{.step = step, .waited_share = waited_share});
      continue;
    }
    FromBuffer& message = (*answer)->message;
    if (const auto* refusal = std::get_if<Refusal>(&message.message)) {
      if (refusal->reason == "fenced") {
        return absl::AbortedError(refusal->message);
      }
      if (refusal->reason == "released") {
        return absl::FailedPreconditionError(absl::StrCat(
            "the buffer refused train step ", step, ": ", refusal->message));
      }
      continue;  // Whatever it did not like is asked again after a silence.
    }
    const auto* reply = std::get_if<TakeReply>(&message.message);
    if (reply != nullptr && reply->step == step) {
      return std::move((*answer)->records);
    }
  }
}

absl::StatusOr<std::vector<MessageFrame>> DataClient::Sample(
    const std::string& table, uint32_t n, uint64_t min_items) {
  absl::StatusOr<std::optional<Drawn>> drawn =
      SampleUntil(table, n, min_items, absl::InfiniteFuture());
  if (!drawn.ok()) return drawn.status();
  return std::move((*drawn)->records);
}

absl::StatusOr<std::optional<DataClient::Drawn>> DataClient::SampleUntil(
    const std::string& table, uint32_t n, uint64_t min_items,
    absl::Time deadline) {
  const SampleRequest request = {.table = table,
                                 .n = n,
                                 .request = ++next_request_,
                                 .min_items = min_items};
  Send(request);
  while (clock_.Now() < deadline) {
    auto answer = Hear();
    if (!answer.ok()) return answer.status();
    if (!answer->has_value()) {
      // Silent: perhaps another life of the buffer, which gives no credits
      // before it knows where training stands.
      Send(LearnerHello{.next_train_step = next_train_step_});
      Send(request);
      continue;
    }
    FromBuffer& message = (*answer)->message;
    if (const auto* refusal = std::get_if<Refusal>(&message.message);
        refusal != nullptr && refusal->reason == "unknown_table") {
      return absl::FailedPreconditionError(refusal->message);
    }
    const auto* reply = std::get_if<SampleReply>(&message.message);
    if (reply != nullptr && reply->request == request.request) {
      return Drawn{.records = std::move((*answer)->records),
                   .table_items = reply->table_items};
    }
  }
  return std::nullopt;
}

void DataClient::ReleaseBefore(int64_t step) {
  Send(Release{.before_step = step});
}

template <typename Message>
void DataClient::Send(Message message) {
  // A question that a missing connection swallows is asked again, soon.
  sent_ =
      channel_
          .Send(
              {MessageFrame(ToBufferBytes({.worker = options_.rank,
                                           .incarnation = options_.incarnation,
                                           .message = std::move(message)}))})
          .ok();
}

absl::StatusOr<std::optional<DataClient::Answer>> DataClient::Hear() {
  const absl::Time give_up =
      clock_.Now() + (sent_ ? options_.repeat_after : kRetryUnsent);
  while (clock_.Now() < give_up) {
    if (stop_.stop_requested()) return absl::CancelledError("stop requested");
    auto received =
        channel_.Receive(std::min(kStopCheck, give_up - clock_.Now()));
    if (!received.ok()) return received.status();
    if (!received->has_value() || (*received)->empty()) continue;
    absl::StatusOr<FromBuffer> message =
        FromBufferFromBytes((*received)->front().text());
    if (!message.ok()) return message.status();
    std::vector<MessageFrame>& frames = **received;
    return Answer{.message = *std::move(message),
                  .records = {frames.begin() + 1, frames.end()}};
  }
  return std::nullopt;
}

}  // namespace flywheel
