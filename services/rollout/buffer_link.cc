#include "services/rollout/buffer_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/data_codec.h"

namespace flywheel {
namespace {

constexpr absl::Duration kRetryUnsent = absl::Milliseconds(20);

}  // namespace

BufferLink::BufferLink(DealerChannel channel, const Options& options,
                       const Clock& clock)
    : channel_(std::move(channel)), options_(options), clock_(clock) {
  SayHello();
}

template <typename Message>
ToBuffer BufferLink::Envelope(Message message) const {
  return {.worker = options_.worker,
          .incarnation = options_.incarnation,
          .message = std::move(message)};
}

void BufferLink::Request(const std::vector<uint64_t>& environments) {
  if (environments.empty()) return;
  for (const uint64_t environment : environments) {
    requested_[environment] = clock_.Now();
  }
  if (welcome_) Send(Envelope(CreditRequest{environments}));
}

void BufferLink::ActWith(PolicyVersion version) {
  acting_version_ = version.value;
  if (welcome_) Send(Envelope(ActingVersion{version}));
}

void BufferLink::Deliver(uint64_t credit, std::vector<MessageFrame> records,
                         absl::Duration collected_in) {
  Pending pending{.sequence = ++last_sequence_, .num_records = records.size()};
  pending.frames.emplace_back(ToBufferBytes(Envelope(
      Delivery{.sequence = pending.sequence,
               .credit = credit,
               .num_records = static_cast<uint32_t>(records.size()),
               .trajectory_seconds = absl::ToDoubleSeconds(collected_in)})));
  std::move(records.begin(), records.end(), std::back_inserter(pending.frames));
  // A send that fails is repeated with everything else that is overdue.
  if (welcome_) (void)channel_.Send(pending.frames);
  last_sent_ = clock_.Now();
  unacknowledged_.push_back(std::move(pending));
}

absl::Status BufferLink::Poll(absl::Duration timeout, BufferNews& news) {
  while (true) {
    const auto received = channel_.Receive(timeout);
    if (!received.ok()) return received.status();
    if (!received->has_value()) break;
    if ((*received)->empty()) continue;
    const absl::StatusOr<FromBuffer> message =
        FromBufferFromBytes((*received)->front().text());
    if (!message.ok()) return message.status();
    last_heard_ = clock_.Now();
    FLYWHEEL_RETURN_IF_ERROR(Apply(*message, news));
    timeout = absl::ZeroDuration();
  }
  RepeatOverdue();
  return absl::OkStatus();
}

void BufferLink::Send(const ToBuffer& message) {
  // Whatever a missing connection swallows is repeated by RepeatOverdue().
  sent_ = channel_.Send({MessageFrame(ToBufferBytes(message))}).ok();
  last_sent_ = clock_.Now();
}

void BufferLink::SayHello() {
  Send(Envelope(
      RolloutHello{.schema = options_.schema,
                   .first_environment = options_.first_environment,
                   .num_environments = options_.num_environments,
                   .environment_step_seconds = environment_step_seconds_}));
}

void BufferLink::RepeatOverdue() {
  const absl::Time now = clock_.Now();
  if (!welcome_) {
    const absl::Duration patience =
        sent_ ? options_.repeat_after : kRetryUnsent;
    if (now - last_sent_ >= patience) SayHello();
    return;
  }
  const absl::Time latest = std::max(last_sent_, last_heard_);
  if (now - latest < options_.repeat_after) return;
  for (const Pending& pending : unacknowledged_) {
    (void)channel_.Send(pending.frames);
  }
  CreditRequest again;
  for (auto& [environment, requested] : requested_) {
    again.environments.push_back(environment);
    requested = now;
  }
  if (!again.environments.empty()) Send(Envelope(std::move(again)));
  last_sent_ = now;
}

absl::Status BufferLink::Apply(const FromBuffer& message, BufferNews& news) {
  if (buffer_incarnation_ != 0 &&
      message.buffer_incarnation < buffer_incarnation_) {
    return absl::OkStatus();  // From a buffer that is dead by now.
  }
  if (message.buffer_incarnation > buffer_incarnation_) {
    // Another life of the buffer: it knows neither us nor our credits.
    if (buffer_incarnation_ != 0) {
      // What the dead one said is void; what it gave is asked for again.
      for (const Credit& credit : news.grants) {
        requested_[credit.environment] = clock_.Now();
      }
      news = {.buffer_restarted = true};
      ForgetDeliveries();
    }
    const bool introduced = std::holds_alternative<Welcome>(message.message);
    buffer_incarnation_ = message.buffer_incarnation;
    if (!introduced) {
      welcome_ = false;
      SayHello();
    }
  }
  if (const auto* welcome = std::get_if<Welcome>(&message.message)) {
    Apply(*welcome);
  } else if (const auto* grant = std::get_if<CreditGrant>(&message.message)) {
    requested_.erase(grant->credit.environment);
    news.grants.push_back(grant->credit);
  } else if (const auto* call_in = std::get_if<CallIn>(&message.message)) {
    news.called_in.insert(news.called_in.end(), call_in->credits.begin(),
                          call_in->credits.end());
  } else if (const auto* revoked = std::get_if<Revocation>(&message.message)) {
    news.revoked.insert(news.revoked.end(), revoked->credits.begin(),
                        revoked->credits.end());
  } else if (const auto* ack = std::get_if<Acknowledgment>(&message.message)) {
    Apply(*ack);
  } else if (const auto* refusal = std::get_if<Refusal>(&message.message)) {
    return Apply(*refusal);
  }
  return absl::OkStatus();
}

// Credits of another life of the buffer are void: it would refuse these.
void BufferLink::ForgetDeliveries() {
  for (const Pending& pending : unacknowledged_) {
    refused_["buffer_restarted"] += static_cast<int64_t>(pending.num_records);
  }
  unacknowledged_.clear();
  last_sequence_ = 0;
}

void BufferLink::Apply(const Welcome& welcome) {
  welcome_ = true;
  while (!unacknowledged_.empty() &&
         unacknowledged_.front().sequence <= welcome.acknowledged_through) {
    unacknowledged_.pop_front();
  }
  if (acting_version_ >= 0) Send(Envelope(ActingVersion{{acting_version_}}));
  for (const Pending& pending : unacknowledged_) {
    (void)channel_.Send(pending.frames);
  }
  CreditRequest again;
  for (const auto& [environment, requested] : requested_) {
    again.environments.push_back(environment);
  }
  if (!again.environments.empty()) Send(Envelope(std::move(again)));
}

void BufferLink::Apply(const Acknowledgment& acknowledgment) {
  while (!unacknowledged_.empty() && unacknowledged_.front().sequence <=
                                         acknowledgment.acknowledged_through) {
    if (!acknowledgment.refused_reason.empty() &&
        unacknowledged_.front().sequence ==
            acknowledgment.acknowledged_through) {
      refused_[acknowledgment.refused_reason] += static_cast<int64_t>(
          std::max<std::size_t>(unacknowledged_.front().num_records, 1));
    }
    unacknowledged_.pop_front();
  }
}

absl::Status BufferLink::Apply(const Refusal& refusal) {
  if (refusal.reason == "fenced") return absl::AbortedError(refusal.message);
  if (refusal.reason == "schema") {
    return absl::InvalidArgumentError(
        absl::StrCat("the buffer refused this rollout: ", refusal.message));
  }
  if (refusal.reason == "unknown_worker") {
    welcome_ = false;
    SayHello();
    return absl::OkStatus();
  }
  ++refused_[refusal.reason];
  return absl::OkStatus();
}

}  // namespace flywheel
