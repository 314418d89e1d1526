#include "services/buffer/buffer_server.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/wire/data_codec.h"

namespace flywheel {
namespace {

// Records that follow one message, at most (one frame of 65536 is the message).
constexpr int64_t kRecordsPerMessageMax = 65535;

std::optional<absl::Duration> Seconds(const std::optional<double>& seconds) {
  if (!seconds.has_value()) return std::nullopt;
  return absl::Seconds(*seconds);
}

Pacer::Options PacerOptions(const JobSpec& job) {
  const PacingSpec& pacing = job.pacing;
  return {
      .max_policy_lag = pacing.max_policy_lag,
      .batch_credits = job.algorithm.batch_credits,
      .environments = job.resources.environments(),
      // Where bits must match, whoever is late is waited for.
      .overdue = pacing.max_policy_lag == 0 ? Overdue::kWait : Overdue::kCallIn,
      .overdue_limits = {.credit_deadline = Seconds(pacing.credit_deadline),
                         .answer_deadline = Seconds(pacing.answer_deadline)}};
}

uint64_t DemonstrationEpisodes(const JobSpec& job) {
  return job.pretraining.scripted ? job.pretraining.episodes : 0;
}

TrajectoryStore::Options StoreOptions(const JobSpec& job) {
  return {
      .credits_max = static_cast<std::size_t>((job.pacing.max_policy_lag + 1) *
                                              job.algorithm.batch_credits),
      .demonstrations_max = DemonstrationEpisodes(job),
      .bytes_max = static_cast<std::size_t>(job.resources.buffer_bytes_max)};
}

RolloutExchange::Options RolloutOptions(const JobSpec& job) {
  return {
      .environments = static_cast<uint64_t>(job.resources.environments()),
      .delivery = {.unroll_length = job.algorithm.unroll_length,
                   .records_max = static_cast<uint64_t>(
                       kRecordsPerMessageMax / job.algorithm.batch_credits)},
      .demonstration_episodes = DemonstrationEpisodes(job)};
}

}  // namespace

absl::Status BufferServer::CheckJob(const JobSpec& job) {
  if (job.algorithm.batch_credits <= kRecordsPerMessageMax) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "algorithm.batch_credits must be at most ", kRecordsPerMessageMax,
      ", the records one message carries, got ", job.algorithm.batch_credits));
}

BufferServer::BufferServer(const JobSpec& job, uint64_t incarnation,
                           Outbox::Sender sender)
    : outbox_(incarnation, std::move(sender)),
      pacer_(PacerOptions(job)),
      store_(StoreOptions(job)),
      rollouts_(RolloutOptions(job), pacer_, store_, outbox_, drops_),
      learners_({.num_learners = static_cast<uint64_t>(job.resources.learners),
                 .seed = job.seed},
                pacer_, store_, rollouts_, outbox_, drops_) {}

void BufferServer::Handle(const PeerMessage& message, absl::Time now) {
  if (message.frames.empty()) {
    outbox_.Refuse(message.peer, {.reason = "malformed",
                                  .message = "a message must have a frame"});
    return;
  }
  const absl::StatusOr<ToBuffer> decoded =
      ToBufferFromBytes(message.frames.front().text());
  if (!decoded.ok()) {
    outbox_.Refuse(message.peer,
                   {.reason = "malformed",
                    .message = std::string(decoded.status().message())});
    return;
  }
  const RolloutExchange::Sender sender = {.peer = message.peer,
                                          .worker = decoded->worker,
                                          .incarnation = decoded->incarnation};
  const std::vector<MessageFrame> records(message.frames.begin() + 1,
                                          message.frames.end());
  std::visit(
      [&](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, Delivery>) {
          rollouts_.Hear(sender, body, records, now);
        } else if constexpr (std::is_same_v<Body, RolloutHello> ||
                             std::is_same_v<Body, CreditRequest> ||
                             std::is_same_v<Body, ActingVersion>) {
          rollouts_.Hear(sender, body, now);
        } else {
          learners_.Hear(sender, body);
        }
      },
      decoded->message);
}

void BufferServer::Advance(absl::Time now) {
  learners_.Advance(now);
  const Pacer::OverdueCredits overdue = pacer_.FindOverdue(now);
  rollouts_.CallIn(overdue.call_in);
  rollouts_.Revoke(overdue.revoked, "revoked");
  if (learners_.waits_for_demonstrations()) {
    rollouts_.RevokeOverdueDemonstrations(now);
  }
  if (learners_.standing_known()) rollouts_.GiveCredits(now);
}

BufferStatus BufferServer::Status() const {
  return {
      .credits_out = static_cast<int64_t>(pacer_.num_out() +
                                          rollouts_.num_demonstrations_out()),
      .credits_ready = static_cast<int64_t>(pacer_.num_ready()),
      .items = static_cast<int64_t>(store_.num_records()),
      .bytes = static_cast<int64_t>(store_.bytes()),
      .drops = drops_.by_reason(),
      .train_step = pacer_.next_step(),
      .demonstrations = static_cast<int64_t>(store_.demonstrations().size())};
}

}  // namespace flywheel
