#include "services/learner/training_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/core/exit_code.h"
#include "services/core/status_macros.h"
#include "services/policy/policy.h"
#include "services/wire/crc32c.h"
#include "services/wire/job_spec_codec.h"
#include "services/wire/service_log.h"

namespace flywheel {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr absl::Duration kReportEvery = absl::Milliseconds(500);
constexpr absl::Duration kFinalReport = absl::Seconds(3);
constexpr std::size_t kEvaluationsPinned = 3;
const char* const kDemonstrations = "demonstrations";

// Numbers of a manifest.
constexpr char kImitationShare[] = "imitation_share";
constexpr char kLagChunks[] = "policy_lag_chunks/";  // And the lag.

double SecondsSince(SteadyClock::time_point moment) {
  return std::chrono::duration<double>(SteadyClock::now() - moment).count();
}

uint32_t Checksum(std::span<const std::byte> bytes) { return Crc32c(bytes); }

}  // namespace

absl::StatusOr<std::unique_ptr<TrainingRun>> TrainingRun::Start(
    ServiceContext& service, ZmqContext& context) {
  const Assignment& assignment = service.assignment;
  SetPolicyThreads(assignment.job.resources.learner_threads);
  absl::StatusOr<std::unique_ptr<PolicyServer>> policies =
      PolicyServer::Start(context, assignment.policy_endpoint);
  if (!policies.ok()) return policies.status();
  const std::string identity = absl::StrCat("learner-", service.member.index,
                                            ".", service.member.incarnation);
  absl::StatusOr<DealerChannel> channel = DealerChannel::Connect(
      context, {.endpoint = assignment.buffer_endpoint, .identity = identity});
  if (!channel.ok()) return channel.status();
  absl::StatusOr<CheckpointStore> checkpoints =
      CheckpointStore::Open({.folder = assignment.run_folder + "/checkpoints",
                             .keep = assignment.job.checkpoints.keep});
  if (!checkpoints.ok()) return checkpoints.status();
  absl::StatusOr<RecoveryPoints> recovery_points =
      RecoveryPoints::Open(assignment.run_folder + "/recovery");
  if (!recovery_points.ok()) return recovery_points.status();
  DataClient data(
      *std::move(channel),
      {.rank = static_cast<uint64_t>(service.member.index),
       .incarnation = static_cast<uint64_t>(service.member.incarnation)},
      service.stop);
  return std::unique_ptr<TrainingRun>(
      new TrainingRun(service, std::move(data), *std::move(policies),
                      *std::move(checkpoints), *std::move(recovery_points)));
}

TrainingRun::TrainingRun(ServiceContext& service, DataClient data,
                         std::unique_ptr<PolicyServer> policies,
                         CheckpointStore checkpoints,
                         RecoveryPoints recovery_points)
    : service_(service),
      job_(service.assignment.job),
      data_(std::move(data)),
      policies_(std::move(policies)),
      checkpoints_(std::move(checkpoints)),
      recovery_points_(std::move(recovery_points)),
      gauges_(service.admin.registry()),
      started_(SteadyClock::now()),
      reported_(started_),
      checkpointed_(started_),
      recovery_counted_(started_) {}

absl::Status TrainingRun::Run() {
  absl::Status status = Prepare();
  if (status.ok() && !imitated_) status = Imitate();
  if (status.ok()) status = Train();
  // A stop is an order, not a failure, unless there is nothing to save yet.
  if (absl::IsCancelled(status)) status = absl::OkStatus();
  if (status.ok() && learner_ == nullptr) return status;
  if (status.ok()) status = Finish();
  return status.ok() ? status : Fail(status);
}

// Opens what the newest saved state and the first rollout make possible.
absl::Status TrainingRun::Prepare() {
  std::vector<std::string> skipped;
  const absl::StatusOr<std::optional<SavedState>> saved =
      NewestState(checkpoints_, recovery_points_, skipped);
  for (const std::string& sentence : skipped) LogWarning(sentence);
  if (!saved.ok()) return saved.status();
  if (saved->has_value()) {
    used_.train_steps = (*saved)->manifest.train_steps;
    status_.newest_checkpoint = (*saved)->newest_checkpoint;
    LogInfo(absl::StrCat("goes on from ", (*saved)->origin, ": train step ",
                         used_.train_steps));
  }
  used_before_.seconds = service_.assignment.elapsed_seconds;
  Report();
  absl::StatusOr<TrajectorySchema> schema =
      data_.AwaitSchema(used_.train_steps);
  if (!schema.ok()) return schema.status();
  FLYWHEEL_RETURN_IF_ERROR(MakeLearner(*schema));
  if (saved->has_value()) FLYWHEEL_RETURN_IF_ERROR(Restore(**saved));
  absl::StatusOr<MetricsLog> metrics = MetricsLog::Open(
      service_.assignment.run_folder + "/metrics.jsonl", used_.train_steps);
  if (!metrics.ok()) return metrics.status();
  metrics_ = std::make_unique<MetricsLog>(*std::move(metrics));
  imitated_ = imitated_ || !job_.pretraining.scripted;
  if (job_.evaluation.every_environment_steps.has_value()) {
    const int64_t every = *job_.evaluation.every_environment_steps;
    next_evaluation_ = (used_.environment_steps / every + 1) * every;
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::MakeLearner(const TrajectorySchema& schema) {
  absl::StatusOr<BatchBuilder> batches = BatchBuilder::Create(schema);
  if (!batches.ok()) return batches.status();
  batches_ = std::make_unique<BatchBuilder>(*std::move(batches));
  absl::StatusOr<std::unique_ptr<PpoLearner>> learner = PpoLearner::Create(
      {.policy = job_.policy,
       .algorithm = job_.algorithm,
       .pretraining = job_.pretraining,
       .shape = batches_->shape(),
       .seed = job_.seed,
       .device = job_.resources.device,
       .lineage = static_cast<uint64_t>(service_.member.incarnation),
       .checksum = Checksum});
  if (!learner.ok()) return learner.status();
  learner_ = *std::move(learner);
  return absl::OkStatus();
}

absl::Status TrainingRun::Restore(const SavedState& saved) {
  FLYWHEEL_RETURN_IF_ERROR(learner_->LoadState(saved.state));
  const CheckpointManifest& manifest = saved.manifest;
  used_.environment_steps = manifest.environment_steps;
  used_before_.seconds = std::max(used_before_.seconds, manifest.seconds);
  episodes_.set_count(manifest.episodes);
  imitated_ = manifest.phase == "training";
  for (const auto& [name, number] : manifest.numbers) {
    int64_t lag = 0;
    if (name == kImitationShare) {
      imitation_share_ = number;
    } else if (name.starts_with(kLagChunks) &&
               absl::SimpleAtoi(name.substr(sizeof(kLagChunks) - 1), &lag)) {
      status_.policy_lag_counts[lag] = std::llround(number);
    }
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::Imitate() {
  const PretrainingSpec& pretraining = job_.pretraining;
  status_.phase = LearnerPhase::kCollecting;
  Report();
  ledger_.Switch("waiting_for_data");
  const absl::StatusOr<std::vector<MessageFrame>> first =
      data_.Sample(kDemonstrations, 16, pretraining.episodes);
  ledger_.Switch("busy");
  if (!first.ok()) return first.status();
  const absl::StatusOr<ImitationBatch> probe =
      batches_->Imitation(*first, job_.algorithm.discount);
  if (!probe.ok()) return probe.status();
  const double chunks_per_episode =
      static_cast<double>(probe->steps_executed.size()) /
      static_cast<double>(first->size());
  const auto episodes = static_cast<uint32_t>(
      std::max(1.0, std::round(pretraining.batch_size / chunks_per_episode)));
  const double passes = pretraining.epochs * pretraining.episodes / episodes;

  status_.phase = LearnerPhase::kImitating;
  while (imitation_share_ < 1) {
    FLYWHEEL_RETURN_IF_ERROR(ImitateOnce(episodes));
    imitation_share_ = std::max(imitation_share_ + 1 / std::max(passes, 1.0),
                                Used().seconds / pretraining.seconds);
    if (OutOfBudget()) break;
    KeepRecoveryPoint();
    if (SecondsSince(reported_) > absl::ToDoubleSeconds(kReportEvery)) {
      Report();
    }
  }
  learner_->FinishImitation();
  imitated_ = true;
  return WriteCheckpointForEvaluation();
}

absl::Status TrainingRun::ImitateOnce(uint32_t episodes) {
  ledger_.Switch("waiting_for_data");
  const absl::StatusOr<std::vector<MessageFrame>> records =
      data_.Sample(kDemonstrations, episodes, job_.pretraining.episodes);
  ledger_.Switch("busy");
  if (!records.ok()) return records.status();
  const absl::StatusOr<ImitationBatch> batch =
      batches_->Imitation(*records, job_.algorithm.discount);
  if (!batch.ok()) return batch.status();
  const absl::StatusOr<ImitationResult> result =
      learner_->Imitate(*batch, std::min(imitation_share_, 1.0));
  if (!result.ok()) return result.status();
  service_.admin.Beat();
  status_.loss = result->loss;
  metrics_->Write("imitation", {{"train_step", 0},
                                {"environment_steps", 0},
                                {"seconds", Used().seconds},
                                {"loss", result->loss},
                                {"action_error", result->action_error},
                                {"value_loss", result->value_loss},
                                {"gradient_norm", result->gradient_norm}});
  return absl::OkStatus();
}

absl::Status TrainingRun::Train() {
  status_.phase = LearnerPhase::kTraining;
  Publish();
  Report();
  while (!OutOfBudget()) {
    if (service_.stop.stop_requested()) {
      return absl::CancelledError("stop requested");
    }
    FLYWHEEL_RETURN_IF_ERROR(TrainOnce());
  }
  return absl::OkStatus();
}

absl::Status TrainingRun::TrainOnce() {
  const auto begun = SteadyClock::now();
  ledger_.Switch("waiting_for_data");
  const absl::StatusOr<std::vector<MessageFrame>> records =
      data_.Take(used_.train_steps, waited_share_);
  ledger_.Switch("busy");
  if (!records.ok()) return records.status();
  const double waited = SecondsSince(begun);
  ExperienceSummary experience;
  const absl::StatusOr<TrainBatch> batch =
      batches_->Train(*records, used_.train_steps, experience);
  if (!batch.ok()) return batch.status();
  const absl::StatusOr<TrainResult> result =
      learner_->Train(*batch, std::min(BudgetShare(job_.budget, Used()), 1.0));
  if (!result.ok()) return result.status();
  ++used_.train_steps;
  used_.environment_steps += experience.environment_steps;
  ledger_.Switch("publishing");
  Publish();
  ledger_.Switch("busy");
  Account(*result, experience);
  waited_share_ = waited / std::max(SecondsSince(begun), 1e-9);
  KeepRecoveryPoint();
  if (next_evaluation_ > 0 && used_.environment_steps >= next_evaluation_) {
    next_evaluation_ += *job_.evaluation.every_environment_steps;
    PostponeIfFailed(WriteCheckpointForEvaluation());
  } else if (SecondsSince(checkpointed_) >= job_.checkpoints.every_seconds) {
    PostponeIfFailed(WriteCheckpoint());
  }
  return absl::OkStatus();
}

// One checkpoint more or less: training goes on without it, and the next one
// may find room on the disk.
void TrainingRun::PostponeIfFailed(const absl::Status& written) {
  if (written.ok()) return;
  checkpointed_ = SteadyClock::now();
  LogWarning(absl::StrCat("no checkpoint now: ", written.message()));
}

// Brings the run's figures up to date, and writes the train step's line.
void TrainingRun::Account(const TrainResult& result,
                          const ExperienceSummary& experience) {
  for (const ExperienceSummary::Episode& episode : experience.episodes) {
    episodes_.Add(episode.episode_return, episode.success);
  }
  for (const auto& [lag, chunks] : experience.policy_lag_counts) {
    status_.policy_lag_counts[lag] += chunks;
  }
  status_.loss = result.policy_loss + result.value_loss;
  gauges_.Observe(result, experience.policy_lag_counts);
  metrics_->Write(
      "training",
      {{"train_step", static_cast<double>(used_.train_steps)},
       {"environment_steps", static_cast<double>(used_.environment_steps)},
       {"seconds", Used().seconds},
       {"episodes", static_cast<double>(episodes_.count())},
       {"episode_return_mean", episodes_.return_mean()},
       {"success_rate", SuccessRate()},
       {"loss", status_.loss},
       {"policy_loss", result.policy_loss},
       {"value_loss", result.value_loss},
       {"entropy", result.entropy},
       {"kl", result.kl_k3},
       {"kl_after", result.kl_after},
       {"clip_fraction", result.clip_fraction},
       {"effective_sample_share", result.effective_sample_share},
       {"explained_variance", result.explained_variance},
       {"gradient_norm", result.gradient_norm},
       {"learning_rate", result.learning_rate},
       {"log_std_mean", result.log_std_mean},
       {"reward_scale", result.reward_scale},
       {"epochs", static_cast<double>(result.epochs)},
       {"policy_lag_mean", result.policy_lag_mean},
       {"policy_lag_max", static_cast<double>(result.policy_lag_max)},
       {"sample_age_seconds_mean", experience.sample_age_seconds_mean},
       {"waited_share", waited_share_}});
  service_.admin.Beat();
  if (SecondsSince(reported_) > absl::ToDoubleSeconds(kReportEvery)) Report();
}

absl::Status TrainingRun::Finish() {
  FLYWHEEL_RETURN_IF_ERROR(WriteCheckpoint());
  if (const absl::Status cleared = recovery_points_.Clear(); !cleared.ok()) {
    LogWarning(std::string(cleared.message()));
  }
  status_.phase = LearnerPhase::kFinished;
  status_.interrupted = !OutOfBudget();
  Report();
  return service_.membership.ReportNow(status_, kFinalReport);
}

bool TrainingRun::OutOfBudget() const {
  if (BudgetShare(job_.budget, Used()) >= 1) return true;
  return job_.budget.target_return.has_value() && episodes_.full() &&
         episodes_.return_mean() >= *job_.budget.target_return;
}

CheckpointManifest TrainingRun::Manifest() const {
  const Usage used = Used();
  std::map<std::string, double> numbers = {{kImitationShare, imitation_share_}};
  for (const auto& [lag, chunks] : status_.policy_lag_counts) {
    numbers[absl::StrCat(kLagChunks, lag)] = static_cast<double>(chunks);
  }
  return {.policy_version = learner_->version().value,
          .train_steps = used.train_steps,
          .environment_steps = used.environment_steps,
          .episodes = episodes_.count(),
          .seconds = used.seconds,
          .phase = imitated_ ? "training" : "imitation",
          .task = job_.task,
          .numbers = std::move(numbers)};
}

// Writes a recovery point if the work since the last one has paid for it.
void TrainingRun::KeepRecoveryPoint() {
  if (!recovery_pace_.DueAfter(SecondsSince(recovery_counted_))) {
    recovery_counted_ = SteadyClock::now();
    return;
  }
  ledger_.Switch("checkpointing");
  const auto begun = SteadyClock::now();
  const absl::Status written =
      recovery_points_.Write(Manifest(), learner_->SaveState());
  recovery_pace_.Wrote(SecondsSince(begun));
  recovery_counted_ = SteadyClock::now();
  ledger_.Switch("busy");
  // Training goes on: a killed learner falls back further, that is all.
  if (!written.ok() && recovery_status_.ok())
    LogWarning(std::string(written.message()));
  recovery_status_ = written;
}

absl::Status TrainingRun::WriteCheckpoint() {
  ledger_.Switch("checkpointing");
  const CheckpointManifest manifest = Manifest();
  const absl::StatusOr<std::string> name =
      checkpoints_.Write(manifest, learner_->SaveState(), JobSpecBytes(job_));
  ledger_.Switch("busy");
  if (!name.ok()) return name.status();
  checkpointed_ = SteadyClock::now();
  status_.newest_checkpoint = *name;
  data_.ReleaseBefore(manifest.train_steps);
  return absl::OkStatus();
}

absl::Status TrainingRun::WriteCheckpointForEvaluation() {
  FLYWHEEL_RETURN_IF_ERROR(WriteCheckpoint());
  std::vector<std::string>& pinned = status_.evaluation_checkpoints;
  checkpoints_.Pin(status_.newest_checkpoint);
  pinned.push_back(status_.newest_checkpoint);
  if (pinned.size() > kEvaluationsPinned) {
    checkpoints_.Unpin(pinned.front());
    pinned.erase(pinned.begin());
  }
  Report();
  return absl::OkStatus();
}

void TrainingRun::Publish() { policies_->Publish(learner_->Snapshot()); }

Usage TrainingRun::Used() const {
  Usage used = used_;
  used.seconds = used_before_.seconds + SecondsSince(started_);
  return used;
}

double TrainingRun::SuccessRate() const {
  return batches_ != nullptr && batches_->has_success()
             ? episodes_.success_rate()
             : std::nan("");
}

void TrainingRun::Report() {
  const Usage used = Used();
  status_.progress = std::min(BudgetShare(job_.budget, used), 1.0);
  status_.train_steps = used.train_steps;
  status_.environment_steps = used.environment_steps;
  status_.seconds = used.seconds;
  status_.episode_return_mean = episodes_.return_mean();
  status_.success_rate = SuccessRate();
  status_.episodes = episodes_.count();
  status_.seconds_by_cause = {ledger_.Seconds().begin(),
                              ledger_.Seconds().end()};
  gauges_.Set(status_);
  service_.membership.Report(status_);
  service_.admin.Beat();
  reported_ = SteadyClock::now();
}

// Tells the orchestrator that starting this process again cannot help.
absl::Status TrainingRun::Fail(const absl::Status& status) {
  if (absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
      absl::IsAborted(status)) {
    return status;  // It may.
  }
  status_.phase = LearnerPhase::kFailed;
  status_.failure = std::string(status.message());
  const bool as_configured =
      absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status);
  status_.failure_exit_code = as_configured ? kExitConfiguration : kExitFailed;
  LogError(status_.failure);
  if (const absl::Status told =
          service_.membership.ReportNow(status_, kFinalReport);
      !told.ok()) {
    LogWarning(absl::StrCat("cannot report the failure: ", told.message()));
  }
  return status;
}

}  // namespace flywheel
