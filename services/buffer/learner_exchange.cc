#include "services/buffer/learner_exchange.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "services/core/keyed_random.h"
#include "services/core/policy_version.h"

namespace flywheel {

LearnerExchange::LearnerExchange(const Options& options, Pacer& pacer,
                                 TrajectoryStore& store,
                                 RolloutExchange& rollouts, Outbox& outbox,
                                 DropCounts& drops)
    : options_(options),
      pacer_(pacer),
      store_(store),
      rollouts_(rollouts),
      outbox_(outbox),
      drops_(drops) {}

void LearnerExchange::Hear(const Sender& sender, const LearnerHello& hello) {
  Learner* learner = Admit(sender);
  if (learner == nullptr || !Stand(*learner, hello.next_train_step)) return;
  outbox_.Send(learner->peer,
               LearnerWelcome{.schema = rollouts_.schema(),
                              .next_train_step = pacer_.next_step()});
}

void LearnerExchange::Hear(const Sender& sender, const TakeRequest& take) {
  Learner* learner = Admit(sender);
  if (learner == nullptr || !Stand(*learner, take.step)) return;
  if (take.step == pacer_.next_step()) {
    pacer_.ObserveTrainStep(take.step, take.waited_share);
  }
  learner->take = take.step;
}

void LearnerExchange::Hear(const Sender& sender, const SampleRequest& sample) {
  Learner* learner = Admit(sender);
  if (learner == nullptr) return;
  if (const auto wrong = CheckSample(sample)) {
    outbox_.Refuse(sender.peer, *wrong);
    return;
  }
  learner->sample = sample;
}

void LearnerExchange::Hear(const Sender& sender, const Release& release) {
  if (Admit(sender) == nullptr) return;
  if (release.before_step > pacer_.next_step()) {
    outbox_.Refuse(
        sender.peer,
        {.reason = "ahead",
         .message = absl::StrCat(
             "release.before_step must be at most ", pacer_.next_step(),
             ", the next step to be listed, got ", release.before_step)});
    return;
  }
  store_.lists().ReleaseBefore(release.before_step);
}

void LearnerExchange::Advance(absl::Time now) {
  const bool asked =
      std::any_of(learners_.begin(), learners_.end(), [&](const auto& entry) {
        return entry.second.take == pacer_.next_step();
      });
  if (asked) TryMakeList(now);
  for (auto& [rank, learner] : learners_) {
    AnswerTake(learner);
    AnswerSample(learner);
  }
}

bool LearnerExchange::waits_for_demonstrations() const {
  return std::any_of(learners_.begin(), learners_.end(), [](const auto& entry) {
    return entry.second.sample.has_value();
  });
}

// The learner of this incarnation; nullptr, after a refusal, if there is no
// such rank or a newer one has its place.
LearnerExchange::Learner* LearnerExchange::Admit(const Sender& sender) {
  if (sender.worker >= options_.num_learners) {
    outbox_.Refuse(sender.peer,
                   {.reason = "malformed",
                    .message = absl::StrCat("learner: rank must be below ",
                                            options_.num_learners, ", got ",
                                            sender.worker)});
    return nullptr;
  }
  Learner& learner = learners_[sender.worker];
  if (learner.incarnation > sender.incarnation) {
    outbox_.Refuse(
        sender.peer,
        {.reason = "fenced",
         .message = absl::StrCat(
             "learner ", sender.worker, ": incarnation ", learner.incarnation,
             " has its place, got a message of ", sender.incarnation)});
    return nullptr;
  }
  if (learner.incarnation < sender.incarnation) {
    learner = {.incarnation = sender.incarnation};
  }
  learner.peer = sender.peer;
  return &learner;
}

// Whether `step` has a list or is the next to get one; moves the pacer there
// where that is right, else refuses.
bool LearnerExchange::Stand(Learner& learner, int64_t step) {
  const int64_t next = pacer_.next_step();
  if (step != next && store_.lists().Find(step) == nullptr) {
    const bool fell_back = step < next && !learner.stands;
    if (num_lists_ > 0 && !fell_back) {
      outbox_.Refuse(
          learner.peer,
          {.reason = step < next ? "released" : "ahead",
           .message = absl::StrCat("train step ", step,
                                   step < next ? ": its list is not kept" : "",
                                   "; the next step to be listed is ", next)});
      return false;
    }
    StartOver(step);
  }
  learner.stands = true;
  standing_known_ = true;
  return true;
}

void LearnerExchange::StartOver(int64_t step) {
  const Pacer::Voided voided = pacer_.JumpTo(step);
  std::vector<uint64_t> out;
  for (const CreditOut& credit : voided.out) out.push_back(credit.credit.id);
  rollouts_.Revoke(out, "rewound");
  if (const std::size_t queued = store_.ClearTraining(); queued > 0) {
    drops_.Count("rewound", static_cast<int64_t>(queued));
  }
}

void LearnerExchange::TryMakeList(absl::Time now) {
  const int64_t step = pacer_.next_step();
  const Pacer::Start start = pacer_.TryStart(now);
  rollouts_.CallIn(start.call_in);
  if (start.kind != Pacer::Start::Kind::kList) return;
  store_.MakeList(step, start.list);
  ++num_lists_;
  for (const Credit& credit : start.list) {
    ++lag_counts_[PolicyLag(credit.version, {step})];
  }
}

void LearnerExchange::AnswerTake(Learner& learner) {
  if (!learner.take.has_value()) return;
  const std::vector<MessageFrame>* list = store_.lists().Find(*learner.take);
  if (list == nullptr) return;
  // If it is lost, the learner asks again.
  outbox_.Send(learner.peer,
               TakeReply{.step = *learner.take,
                         .num_records = static_cast<uint32_t>(list->size())},
               *list);
  learner.take.reset();
}

void LearnerExchange::AnswerSample(Learner& learner) {
  const Table& table = store_.demonstrations();
  if (!learner.sample.has_value() || table.size() == 0 ||
      table.size() < learner.sample->min_items) {
    return;
  }
  const SampleRequest sample = *std::exchange(learner.sample, std::nullopt);
  std::vector<MessageFrame> records;
  records.reserve(sample.n);
  for (uint32_t i = 0; i < sample.n; ++i) {
    // Keyed by the request: asked again, it draws the same.
    const uint64_t bits =
        KeyedBits(options_.seed, RandomStream::kSampling, sample.request, i);
    records.push_back(table.Select(bits)->records.front().frame);
  }
  outbox_.Send(learner.peer,
               SampleReply{.request = sample.request,
                           .num_records = sample.n,
                           .table_items = table.size()},
               records);
}

std::optional<Rejection> LearnerExchange::CheckSample(
    const SampleRequest& sample) const {
  const Table& table = store_.demonstrations();
  if (sample.table != table.name() || table.items_max() == 0) {
    return Rejection{"unknown_table",
                     absl::StrCat("sample.table must be ",
                                  table.items_max() == 0
                                      ? "of a job with demonstrations"
                                      : absl::StrCat("\"", table.name(), "\""),
                                  ", got \"", sample.table, "\"")};
  }
  if (sample.min_items > table.items_max()) {
    return Rejection{
        "malformed",
        absl::StrCat("sample.min_items must be at most ", table.items_max(),
                     ", all that table \"", table.name(),
                     "\" will ever hold, got ", sample.min_items)};
  }
  return std::nullopt;
}

}  // namespace flywheel
