#include "services/buffer/rollout_exchange.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flywheel {
namespace {

// Two questions closer than this count as one.
constexpr absl::Duration kBetweenQuestions = absl::Milliseconds(500);

constexpr absl::Duration kDemonstrationDeadlineMin = absl::Seconds(60);
constexpr int kDemonstrationMedians = 20;

constexpr std::size_t kRevokedRemembered = 4096;

Rejection Malformed(std::string message) {
  return {.reason = "malformed", .message = std::move(message)};
}

}  // namespace

RolloutExchange::RolloutExchange(const Options& options, Pacer& pacer,
                                 TrajectoryStore& store, Outbox& outbox,
                                 DropCounts& drops)
    : options_(options),
      pacer_(pacer),
      store_(store),
      outbox_(outbox),
      drops_(drops) {}

void RolloutExchange::Hear(const Sender& sender, const RolloutHello& hello,
                           absl::Time now) {
  if (const auto wrong = CheckHello(sender, hello)) {
    outbox_.Refuse(sender.peer, *wrong);
    return;
  }
  if (!check_.has_value()) check_.emplace(hello.schema, options_.delivery);
  Rollout& rollout = rollouts_[sender.worker];
  if (rollout.incarnation != sender.incarnation) {
    ReturnAllOf(sender.worker);
    rollout = {.incarnation = sender.incarnation};
  }
  rollout.peer = sender.peer;
  rollout.first_environment = hello.first_environment;
  rollout.num_environments = hello.num_environments;
  rollout.hello = now;
  rollout.reachable = true;
  if (hello.environment_step_seconds > 0) {
    pacer_.ObserveAnswer(absl::Seconds(hello.environment_step_seconds));
  }
  Welcome welcome = {.acknowledged_through = rollout.acknowledged_through};
  for (const uint64_t credit : hello.held_credits) {
    const Grant* grant = grants_.Find(credit);
    if (grant != nullptr && grant->worker == sender.worker) {
      welcome.held_credits.push_back(credit);
    }
  }
  outbox_.Send(rollout.peer, std::move(welcome));
}

std::optional<Rejection> RolloutExchange::CheckHello(
    const Sender& sender, const RolloutHello& hello) const {
  const auto known = rollouts_.find(sender.worker);
  if (known != rollouts_.end() &&
      known->second.incarnation > sender.incarnation) {
    return Rejection{
        "fenced",
        absl::StrCat("rollout ", sender.worker, ": incarnation ",
                     known->second.incarnation,
                     " has its place, got a message of ", sender.incarnation)};
  }
  if (check_.has_value() && SchemaHash(hello.schema) != check_->schema_hash()) {
    return Rejection{
        "schema",
        absl::StrFormat("rollout %d: schema hash must be %#018x as of the "
                        "job's first rollout, got %#018x",
                        sender.worker, check_->schema_hash(),
                        SchemaHash(hello.schema))};
  }
  if (hello.first_environment >= options_.environments ||
      hello.num_environments >
          options_.environments - hello.first_environment) {
    return Malformed(
        absl::StrCat("rollout ", sender.worker, ": environments must be below ",
                     options_.environments, ", got ", hello.num_environments,
                     " from ", hello.first_environment));
  }
  for (const auto& [worker, rollout] : rollouts_) {
    if (worker == sender.worker) continue;
    if (rollout.first_environment <
            hello.first_environment + hello.num_environments &&
        hello.first_environment <
            rollout.first_environment + rollout.num_environments) {
      return Malformed(absl::StrCat(
          "rollout ", sender.worker, ": environments must be its own, got ",
          hello.num_environments, " from ", hello.first_environment,
          ", of which some belong to rollout ", worker));
    }
  }
  return std::nullopt;
}

void RolloutExchange::Hear(const Sender& sender, const CreditRequest& request,
                           absl::Time now) {
  Rollout* rollout = Known(sender);
  if (rollout == nullptr) return;
  for (const uint64_t environment : request.environments) {
    if (rollout->Has(environment)) continue;
    outbox_.Refuse(
        sender.peer,
        Malformed(absl::StrCat(
            "credit_request.environments: rollout ", sender.worker, " has ",
            rollout->num_environments, " environments from ",
            rollout->first_environment, ", got ", environment)));
    return;
  }
  for (const uint64_t environment : request.environments) {
    Grant* grant = grants_.FindByEnvironment(environment);
    if (grant == nullptr) {
      requests_.Add(environment, sender.worker);
    } else {
      SendAgainIfLost(*rollout, *grant, now);
    }
  }
}

void RolloutExchange::Hear(const Sender& sender, const ActingVersion& acting,
                           absl::Time /*now*/) {
  Rollout* rollout = Known(sender);
  if (rollout == nullptr) return;
  rollout->acting_version = acting.version.value;
  pacer_.ObservePublished(acting.version);
}

void RolloutExchange::Hear(const Sender& sender, const Delivery& delivery,
                           const std::vector<MessageFrame>& records,
                           absl::Time now) {
  Rollout* rollout = Known(sender);
  if (rollout == nullptr) return;
  Acknowledgment acknowledgment;
  // What is older was stored already; what is newer comes again, in order.
  if (delivery.sequence == rollout->acknowledged_through + 1) {
    ++rollout->acknowledged_through;
    if (auto wrong = Store(sender, *rollout, delivery, records, now)) {
      acknowledgment.refused_reason = std::move(wrong->reason);
      acknowledgment.refused_message = std::move(wrong->message);
    }
  }
  acknowledgment.acknowledged_through = rollout->acknowledged_through;
  outbox_.Send(rollout->peer, std::move(acknowledgment));
}

// The rollout of this incarnation; nullptr, after a refusal, if it is not the
// one that said hello last.
RolloutExchange::Rollout* RolloutExchange::Known(const Sender& sender) {
  const auto found = rollouts_.find(sender.worker);
  if (found != rollouts_.end() &&
      found->second.incarnation == sender.incarnation) {
    found->second.reachable = true;
    return &found->second;
  }
  const bool older = found != rollouts_.end() &&
                     found->second.incarnation > sender.incarnation;
  outbox_.Refuse(
      sender.peer,
      {.reason = older ? "fenced" : "unknown_worker",
       .message = absl::StrCat(
           "rollout ", sender.worker, " of incarnation ", sender.incarnation,
           older ? ": a newer one has its place" : ": must say hello first")});
  return nullptr;
}

std::optional<Rejection> RolloutExchange::Store(
    const Sender& sender, const Rollout& rollout, const Delivery& delivery,
    const std::vector<MessageFrame>& records, absl::Time now) {
  const Grant* found = grants_.Find(delivery.credit);
  if (found == nullptr || found->worker != sender.worker) {
    return UnknownCredit(sender, delivery, records.size());
  }
  const Grant grant = *found;
  auto wrong = StoreRecords(sender, rollout, grant, delivery, records);
  grants_.Remove(grant.credit.id);
  if (wrong.has_value()) {
    drops_.Count(wrong->reason,
                 std::max<int64_t>(1, static_cast<int64_t>(records.size())));
  }
  if (wrong.has_value() || records.empty()) {
    ReturnCredit(grant.credit);
  } else if (grant.credit.kind == CreditKind::kTraining) {
    pacer_.MakeReady(grant.credit.id);
  } else {
    demonstration_seconds_.Add(now - grant.given);
  }
  return wrong;
}

std::optional<Rejection> RolloutExchange::StoreRecords(
    const Sender& sender, const Rollout& rollout, const Grant& grant,
    const Delivery& delivery, const std::vector<MessageFrame>& records) {
  if (delivery.num_records != records.size()) {
    return Rejection{
        "corrupt",
        absl::StrCat("delivery.num_records must be the number of "
                     "frames that follow, ",
                     records.size(), ", got ", delivery.num_records)};
  }
  if (records.empty()) return std::nullopt;
  const int64_t newest = std::max(pacer_.next_step(), rollout.acting_version);
  auto checked = check_->Check(records, {.worker = sender.worker,
                                         .incarnation = sender.incarnation,
                                         .credit = grant.credit,
                                         .newest = {newest}});
  if (auto* wrong = std::get_if<Rejection>(&checked)) return std::move(*wrong);
  auto& stored = std::get<std::vector<StoredRecord>>(checked);
  ObserveTime(grant.credit, delivery, stored);
  const absl::Status inserted = store_.Insert(grant.credit, std::move(stored));
  if (inserted.ok()) return std::nullopt;
  return Rejection{"full", std::string(inserted.message())};
}

Rejection RolloutExchange::UnknownCredit(const Sender& sender,
                                         const Delivery& delivery,
                                         std::size_t num_records) {
  const bool revoked = revoked_.erase(delivery.credit) > 0;
  if (revoked) {
    // Counted when it was revoked. That it took so long is worth knowing.
    pacer_.ObserveTrajectory(absl::Seconds(delivery.trajectory_seconds), 0);
  } else if (num_records > 0) {
    drops_.Count("unknown_credit", static_cast<int64_t>(num_records));
  }
  return {
      .reason = "unknown_credit",
      .message = absl::StrCat("delivery.credit must be one that rollout ",
                              sender.worker, " has out, got ", delivery.credit,
                              revoked ? ", which was revoked" : "")};
}

// What was called in says nothing about how long trajectories take.
void RolloutExchange::ObserveTime(const Credit& credit,
                                  const Delivery& delivery,
                                  const std::vector<StoredRecord>& records) {
  const CreditOut* out = pacer_.FindOut(credit.id);
  if (out == nullptr || out->called_in.has_value()) return;
  int64_t chunks = 0;
  for (const StoredRecord& record : records) {
    chunks += record.header.num_chunks;
  }
  pacer_.ObserveTrajectory(absl::Seconds(delivery.trajectory_seconds), chunks);
}

void RolloutExchange::GiveCredits(absl::Time now) {
  for (const WaitingRequest& request : requests_.InOrder()) {
    Rollout& rollout = rollouts_.at(request.worker);
    if (!rollout.reachable) continue;
    const std::optional<Credit> credit = TryGive(request, rollout, now);
    if (!credit.has_value()) continue;
    if (!outbox_.Send(rollout.peer, CreditGrant{*credit})) {
      rollout.reachable = false;
      ReturnCredit(*credit);
      continue;
    }
    requests_.Granted(request.environment);
    grants_.Add({.credit = *credit,
                 .worker = request.worker,
                 .given = now,
                 .sent = now});
    ++num_credits_given_;
  }
}

std::optional<Credit> RolloutExchange::TryGive(const WaitingRequest& request,
                                               const Rollout& rollout,
                                               absl::Time now) {
  if (DemonstrationWanted()) {
    return Credit{.id = pacer_.NextCreditId(),
                  .environment = request.environment,
                  .kind = CreditKind::kDemonstration};
  }
  if (rollout.acting_version < 0) return std::nullopt;
  return pacer_.TryGive(request.environment, request.worker,
                        {rollout.acting_version}, now);
}

// Imitation ends with version 0: once a rollout acts with one, or training went
// on elsewhere, demonstrations are of no use any more.
bool RolloutExchange::DemonstrationWanted() const {
  if (store_.demonstrations().size() + grants_.num_demonstrations() >=
          options_.demonstration_episodes ||
      pacer_.next_step() > 0) {
    return false;
  }
  return std::none_of(
      rollouts_.begin(), rollouts_.end(),
      [](const auto& entry) { return entry.second.acting_version >= 0; });
}

// An environment asks while its credit is out: either the grant was lost, or
// what it delivered. Rollouts repeat their deliveries before their requests, so
// at its second question, or its first after a hello, it was the grant.
void RolloutExchange::SendAgainIfLost(Rollout& rollout, Grant& grant,
                                      absl::Time now) {
  if (grant.sent >= rollout.hello) {
    if (!grant.asked.has_value()) grant.asked = now;
    if (now - *grant.asked < kBetweenQuestions) return;
  }
  rollout.reachable = outbox_.Send(rollout.peer, CreditGrant{grant.credit});
  if (!rollout.reachable) return;
  grant.sent = now;
  grant.asked.reset();
}

void RolloutExchange::ReturnCredit(const Credit& credit) {
  if (credit.kind == CreditKind::kTraining) pacer_.Return(credit.id);
}

void RolloutExchange::ReturnAllOf(uint64_t worker) {
  for (const Grant& grant : grants_.OfWorker(worker)) {
    grants_.Remove(grant.credit.id);
  }
  pacer_.ReturnAllOf(worker);
  requests_.RemoveAllOf(worker);
}

void RolloutExchange::CallIn(const std::vector<uint64_t>& credits) {
  num_credits_called_in_ += static_cast<int64_t>(credits.size());
  SendByWorker(credits, flywheel::CallIn{});
}

void RolloutExchange::Revoke(const std::vector<uint64_t>& credits,
                             const std::string& reason) {
  SendByWorker(credits, Revocation{.reason = reason});
  for (const uint64_t credit : credits) {
    if (grants_.Find(credit) == nullptr) continue;
    grants_.Remove(credit);
    drops_.Count(reason, 1);
    Remember(credit);
  }
}

void RolloutExchange::RevokeOverdueDemonstrations(absl::Time now) {
  if (grants_.num_demonstrations() == 0) return;
  const auto median = demonstration_seconds_.Median();
  if (!median.has_value()) return;
  const absl::Duration deadline =
      std::max(kDemonstrationDeadlineMin, kDemonstrationMedians * *median);
  std::vector<uint64_t> overdue;
  for (const Grant& grant : grants_.OfKind(CreditKind::kDemonstration)) {
    if (now - grant.given >= deadline) overdue.push_back(grant.credit.id);
  }
  Revoke(overdue, "revoked");
}

std::optional<TrajectorySchema> RolloutExchange::schema() const {
  if (!check_.has_value()) return std::nullopt;
  return check_->schema();
}

void RolloutExchange::Remember(uint64_t revoked) {
  revoked_.insert(revoked);
  if (revoked_.size() > kRevokedRemembered) revoked_.erase(revoked_.begin());
}

// One message for each rollout that has some of `credits` out.
template <typename Message>
void RolloutExchange::SendByWorker(const std::vector<uint64_t>& credits,
                                   Message message) {
  std::map<uint64_t, std::vector<uint64_t>> by_worker;
  for (const uint64_t credit : credits) {
    const Grant* grant = grants_.Find(credit);
    if (grant != nullptr) by_worker[grant->worker].push_back(credit);
  }
  for (auto& [worker, owned] : by_worker) {
    message.credits = std::move(owned);
    outbox_.Send(rollouts_.at(worker).peer, message);
  }
}

}  // namespace flywheel
