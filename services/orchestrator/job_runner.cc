#include "services/orchestrator/job_runner.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

// More would mean that actions do not change what Reconcile() sees.
constexpr int kRoundsMax = 100;
constexpr std::size_t kRecoveriesMax = 1000;
constexpr Slot kEvaluationSlot{.role = Role::kEvaluation};
constexpr Slot kLearnerSlot{.role = Role::kLearner};
constexpr Slot kBufferSlot{.role = Role::kBuffer};

// A process that ends so soon after joining will likely do so again.
constexpr absl::Duration kQuickCrash = absl::Seconds(2);

std::vector<ObservedSlot> SlotsOf(const ResourcesSpec& resources) {
  std::vector<ObservedSlot> slots;
  const auto add = [&](Role role, int count) {
    for (int i = 0; i < count; ++i) {
      slots.push_back({.slot = {.role = role, .index = i}});
    }
  };
  // The buffer first: the others connect to it.
  add(Role::kBuffer, resources.buffers);
  add(Role::kLearner, resources.learners);
  add(Role::kRollout, resources.rollouts);
  return slots;
}

std::string ProgramOf(Role role) {
  return role == Role::kEvaluation
             ? "flywheel-evaluate"
             : absl::StrCat("flywheel-", std::string(RoleName(role)));
}

}  // namespace

JobRunner::JobRunner(Job job, const Options& options)
    : options_(options), job_(std::move(job)) {
  observed_.state = job_.state;
  observed_.slots = SlotsOf(job_.spec.resources);
  observed_.final_episodes = job_.spec.evaluation.episodes;
  observed_.training_episodes = job_.spec.evaluation.episodes_during_training;
  job_.rollouts.resize(static_cast<std::size_t>(job_.spec.resources.rollouts));
}

std::vector<Order> JobRunner::Step(absl::Time now) {
  for (int round = 0; round < kRoundsMax; ++round) {
    const Plan plan = Reconcile(observed_, now, options_.limits);
    wake_ = plan.wake;
    if (plan.actions.empty()) break;
    for (const Action& action : plan.actions) {
      std::visit([&](const auto& it) { CarryOut(it, now); }, action);
    }
    ++job_.revision;
  }
  if (std::exchange(save_, false)) orders_.push_back(SaveOrder{});
  return std::exchange(orders_, {});
}

// --- Actions ------------------------------------------------------------

void JobRunner::CarryOut(const StartProcess& action, absl::Time now) {
  ObservedSlot& slot = *Find(action.slot);
  if (slot.end) RecordRestart(slot);
  orders_.push_back(OrderFor(NewLife(slot, now)));
}

void JobRunner::CarryOut(const DrainProcess& action, absl::Time now) {
  Find(action.slot)->drain_asked = now;
  orders_.push_back(
      StopOrder{{job_.job_id, action.slot, lives_[action.slot].incarnation}});
}

void JobRunner::CarryOut(const KillProcess& action, absl::Time) {
  Find(action.slot)->kill_sent = true;
  Life& life = lives_[action.slot];
  life.kill_reason = action.reason;
  if (observed_.ending && !IsFinal(observed_.state)) {
    absl::StrAppend(&observed_.ending->message, "; ", SlotName(action.slot),
                    " ", action.reason, " and was killed");
  }
  orders_.push_back(
      KillOrder{{job_.job_id, action.slot, life.incarnation}, action.reason});
}

void JobRunner::CarryOut(const ChangeState& action, absl::Time now) {
  job_.state = observed_.state = action.state;
  job_.message = action.message;
  if (action.state == JobState::kRunning && !job_.running) job_.running = now;
  Save();
}

void JobRunner::CarryOut(const DecideEnding& action, absl::Time) {
  observed_.ending = action.ending;
  job_.message = action.ending.message;
  job_.exit_code = action.ending.exit_code;
  Save();
}

void JobRunner::CarryOut(const StartEvaluation& action, absl::Time now) {
  if (!observed_.evaluation) {
    observed_.evaluation = {.checkpoint = action.checkpoint,
                            .final = action.final,
                            .process = {.slot = kEvaluationSlot}};
  }
  observed_.evaluation->progressed = now;
  job_.evaluation = EvaluationStatus{.episodes_total = action.episodes};
  ProcessOrder order = OrderFor(NewLife(observed_.evaluation->process, now));
  order.arguments.push_back("--checkpoint=" + action.checkpoint);
  order.arguments.push_back(absl::StrCat("--episodes=", action.episodes));
  order.arguments.push_back("--output=" + evaluation_path());
  orders_.push_back(std::move(order));
}

void JobRunner::CarryOut(const GiveUpEvaluation& action, absl::Time) {
  observed_.evaluated.insert(observed_.evaluation->checkpoint);
  observed_.evaluation.reset();
  job_.evaluation.reset();
  job_.message = action.message;
}

void JobRunner::CarryOut(const FinishJob& action, absl::Time now) {
  job_.state = observed_.state = action.ending.state;
  job_.message = action.ending.message;
  job_.exit_code = action.ending.exit_code;
  job_.finished = now;
  job_.evaluation.reset();
  Save();
}

PlacedProcess JobRunner::NewLife(ObservedSlot& slot, absl::Time now) {
  Life& life = lives_[slot.slot];
  life = {.incarnation =
              std::max(absl::ToUnixMicros(now), life.incarnation + 1)};
  slot.running = true;
  slot.started = slot.heard = now;
  slot.joined.reset();
  slot.drain_asked.reset();
  slot.kill_sent = false;
  if (slot.slot == kLearnerSlot && job_.learner) {
    learner_resumed_ = false;
    train_steps_before_death_ = job_.learner->train_steps;
  }
  return {job_.job_id, slot.slot, life.incarnation};
}

ProcessOrder JobRunner::OrderFor(const PlacedProcess& process) const {
  const Role role = process.slot.role;
  const int threads =
      role == Role::kLearner ? job_.spec.resources.learner_threads : 1;
  return {.process = process,
          .program = ProgramOf(role),
          .arguments = {"--orchestrator=" + options_.orchestrator,
                        "--job_id=" + job_.job_id,
                        absl::StrCat("--index=", process.slot.index),
                        absl::StrCat("--incarnation=", process.incarnation)},
          .environment = {absl::StrCat("OMP_NUM_THREADS=", threads)},
          .log_path = absl::StrCat(job_.run_folder, "/logs/",
                                   SlotName(process.slot), ".log")};
}

std::string JobRunner::evaluation_path() const {
  return absl::StrCat(
      job_.run_folder, "/evaluations/",
      observed_.evaluation ? observed_.evaluation->checkpoint : "none",
      observed_.evaluation && observed_.evaluation->final ? "-final" : "",
      ".json");
}

// --- Events -------------------------------------------------------------

ObservedSlot* JobRunner::Find(const Slot& slot) {
  if (slot == kEvaluationSlot && observed_.evaluation) {
    return &observed_.evaluation->process;
  }
  const auto found =
      std::find_if(observed_.slots.begin(), observed_.slots.end(),
                   [&](const ObservedSlot& s) { return s.slot == slot; });
  return found == observed_.slots.end() ? nullptr : &*found;
}

absl::StatusOr<ObservedSlot*> JobRunner::Admit(const Member& member) {
  const Slot name{.role = member.role, .index = member.index};
  ObservedSlot* const slot = Find(name);
  if (slot == nullptr) {
    return absl::NotFoundError(
        absl::StrCat("job ", job_.job_id, " has no ", SlotName(name)));
  }
  const int64_t newest = lives_[name].incarnation;
  if (member.incarnation < newest) {
    return absl::FailedPreconditionError(
        absl::StrCat(SlotName(name), " is fenced: incarnation ", newest,
                     " has its place, got ", member.incarnation));
  }
  if (member.incarnation > newest) {
    return absl::FailedPreconditionError(
        absl::StrCat(SlotName(name), " with incarnation ", member.incarnation,
                     " was not placed by this orchestrator"));
  }
  return slot;
}

absl::StatusOr<Assignment> JobRunner::Register(const Member& member,
                                               absl::Time now) {
  const absl::StatusOr<ObservedSlot*> slot = Admit(member);
  if (!slot.ok()) return slot.status();
  (*slot)->heard = now;
  if (Restart* const restart = OpenRestart((*slot)->slot);
      restart != nullptr && !restart->rejoined) {
    restart->rejoined = now;
  }
  ++job_.revision;
  return Assignment{.job = job_.spec,
                    .run_folder = job_.run_folder,
                    .buffer_endpoint = options_.buffer_endpoint,
                    .policy_endpoint = options_.policy_endpoint,
                    .elapsed_seconds = member.role == Role::kLearner
                                           ? ElapsedSeconds(now)
                                           : 0};
}

absl::StatusOr<Directive> JobRunner::HearFrom(const Member& member,
                                              const MemberStatus& status,
                                              absl::Time now) {
  const absl::StatusOr<ObservedSlot*> admitted = Admit(member);
  if (admitted.status().code() == absl::StatusCode::kFailedPrecondition) {
    return Directive::kFenced;
  }
  if (!admitted.ok()) return admitted.status();
  ObservedSlot& slot = **admitted;
  slot.heard = now;
  if (!slot.joined) slot.joined = now;
  if (const auto* rollout = std::get_if<RolloutStatus>(&status)) {
    if (member.role == Role::kRollout) Apply(member, *rollout, now);
  } else if (const auto* buffer = std::get_if<BufferStatus>(&status)) {
    if (member.role == Role::kBuffer) Apply(*buffer, now);
  } else if (const auto* learner = std::get_if<LearnerStatus>(&status)) {
    if (member.role == Role::kLearner) Apply(*learner, now);
  } else if (const auto* evaluation = std::get_if<EvaluationStatus>(&status)) {
    if (member.role == Role::kEvaluation) Apply(*evaluation, now);
  }
  ++job_.revision;
  return slot.drain_asked ? Directive::kDrain : Directive::kContinue;
}

void JobRunner::Apply(const Member& member, const RolloutStatus& status,
                      absl::Time now) {
  job_.rollouts[static_cast<std::size_t>(member.index)] = status;
  if (status.environment_steps > 0) {
    NoteProduction({.role = Role::kRollout, .index = member.index}, now);
  }
}

void JobRunner::Apply(const BufferStatus& status, absl::Time now) {
  job_.buffer = status;
  if (status.demonstrations > 0) NoteProduction(kBufferSlot, now);
}

void JobRunner::Apply(const LearnerStatus& status, absl::Time now) {
  // One that is only starting knows nothing yet; what the last one said stays.
  if (job_.learner && status.phase == LearnerPhase::kStarting) return;
  if (!learner_resumed_) {
    learner_resumed_ = true;
    if (Restart* const restart = OpenRestart(kLearnerSlot)) {
      restart->train_steps_lost =
          std::max<int64_t>(0, train_steps_before_death_ - status.train_steps);
    }
  } else if (job_.learner && (status.train_steps > job_.learner->train_steps ||
                              status.progress > job_.learner->progress ||
                              status.phase == LearnerPhase::kFinished)) {
    NoteProduction(kLearnerSlot, now);
  }
  if (status.train_steps > train_steps_at_buffer_death_) {
    NoteProduction(kBufferSlot, now);
  }
  job_.learner = observed_.learner = status;
  learner_heard_ = now;
}

void JobRunner::Apply(const EvaluationStatus& status, absl::Time now) {
  if (job_.evaluation && status.episodes != job_.evaluation->episodes) {
    observed_.evaluation->progressed = now;
  }
  job_.evaluation = status;
}

void JobRunner::ProcessEnded(const PlacedProcess& process,
                             const ProcessEnd& end, absl::Time now) {
  ObservedSlot* const slot = Find(process.slot);
  if (slot == nullptr || !slot->running ||
      lives_[process.slot].incarnation != process.incarnation) {
    return;
  }
  EndLife(*slot, end, now);
}

void JobRunner::EvaluationEnded(const PlacedProcess& process,
                                const ProcessEnd& end,
                                const absl::StatusOr<Evaluation>& result,
                                absl::Time now) {
  if (!observed_.evaluation || !observed_.evaluation->process.running ||
      lives_[kEvaluationSlot].incarnation != process.incarnation) {
    return;
  }
  ObservedEvaluation& evaluation = *observed_.evaluation;
  const bool succeeded = result.ok() && end.signal == 0 && end.exit_code == 0 &&
                         !end.never_started;
  ++job_.revision;
  if (!succeeded) {
    ++evaluation.failures;
    evaluation.process.running = false;
    evaluation.process.end = end;
    evaluation.process.ended = now;
    if (end.signal == 0 && end.exit_code == 0 && !end.never_started) {
      evaluation.process.end->last_log_line =
          std::string(result.status().message());
    }
    return;
  }
  Evaluation done = *result;
  done.checkpoint = evaluation.checkpoint;
  done.final = evaluation.final;
  observed_.evaluated.insert(evaluation.checkpoint);
  observed_.final_evaluation_done |= evaluation.final;
  observed_.evaluation.reset();
  job_.evaluation.reset();
  job_.evaluations.push_back(std::move(done));
  Save();
}

void JobRunner::Cancel() {
  observed_.cancel_requested = true;
  ++job_.revision;
}

// --- Lives --------------------------------------------------------------

bool JobRunner::IsCrash(const ObservedSlot& slot) const {
  return !slot.drain_asked && !observed_.ending && !IsFinal(observed_.state) &&
         !TrainingFinished(observed_);
}

void JobRunner::EndLife(ObservedSlot& slot, const ProcessEnd& end,
                        absl::Time now) {
  slot.running = false;
  slot.end = end;
  slot.ended = now;
  ++job_.revision;
  if (!IsCrash(slot)) return;
  const bool quick = !slot.joined || now - *slot.joined < kQuickCrash;
  slot.quick_crashes = quick ? slot.quick_crashes + 1 : 1;
  slot.crashes.push_back(now);
  const auto too_old = std::find_if(
      slot.crashes.begin(), slot.crashes.end(),
      [&](absl::Time t) { return now - t <= options_.limits.crash_window; });
  slot.crashes.erase(slot.crashes.begin(), too_old);
  if (slot.slot == kBufferSlot && job_.learner) {
    train_steps_at_buffer_death_ = job_.learner->train_steps;
  }
}

void JobRunner::RecordRestart(const ObservedSlot& slot) {
  ++job_.restarts[std::string(RoleName(slot.slot.role))];
  Save();
  const Life& life = lives_[slot.slot];  // The one that ended.
  job_.recoveries.push_back({.role = slot.slot.role,
                             .index = slot.slot.index,
                             .died = slot.ended,
                             .reason = life.kill_reason.empty()
                                           ? Description(*slot.end)
                                           : life.kill_reason});
  if (job_.recoveries.size() > kRecoveriesMax) {
    job_.recoveries.erase(job_.recoveries.begin());
  }
}

Restart* JobRunner::OpenRestart(const Slot& slot) {
  const auto newest = std::find_if(
      job_.recoveries.rbegin(), job_.recoveries.rend(), [&](const Restart& r) {
        return Slot{.role = r.role, .index = r.index} == slot;
      });
  if (newest == job_.recoveries.rend() || newest->producing) return nullptr;
  return &*newest;
}

void JobRunner::NoteProduction(const Slot& slot, absl::Time now) {
  Restart* const restart = OpenRestart(slot);
  if (restart == nullptr || !restart->rejoined) return;
  restart->producing = now;
  Save();
}

// A learner that comes back has been trained for as long as the last one said,
// and the time since then is gone too: being killed must not give it back.
double JobRunner::ElapsedSeconds(absl::Time now) const {
  if (!job_.learner) {
    return job_.running ? absl::ToDoubleSeconds(now - *job_.running) : 0;
  }
  return job_.learner->seconds + absl::ToDoubleSeconds(now - learner_heard_);
}

}  // namespace flywheel
