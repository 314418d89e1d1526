#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "services/core/member_status.h"
#include "services/core/time_ledger.h"
#include "services/core/trajectory_schema.h"
#include "services/learner/batch_builder.h"
#include "services/learner/budget.h"
#include "services/learner/data_client.h"
#include "services/learner/episode_window.h"
#include "services/learner/metrics_log.h"
#include "services/learner/policy_server.h"
#include "services/learner/ppo_learner.h"
#include "services/learner/recovery_pace.h"
#include "services/learner/saved_state.h"
#include "services/learner/training_metrics.h"
#include "services/wire/checkpoint_store.h"
#include "services/wire/recovery_points.h"
#include "services/wire/service_process.h"

namespace flywheel {

// Everything one learner process does from its first checkpoint to its last:
// goes on from the newest valid checkpoint or recovery point, imitates if the
// job says so, publishes version 0, then takes lists, trains and publishes
// until the budget is used or a stop is requested, and ends with a final
// checkpoint.
//
// Not thread-safe: one thread calls Run() once.
class TrainingRun {
 public:
  // Opens the run folder, the sockets and the newest checkpoint. `service`,
  // `context` must outlive the run.
  static absl::StatusOr<std::unique_ptr<TrainingRun>> Start(
      ServiceContext& service, ZmqContext& context);

  // Returns OK when training is finished or was stopped in order.
  // InvalidArgument or FailedPrecondition: starting again cannot help.
  absl::Status Run();

 private:
  TrainingRun(ServiceContext& service, DataClient data,
              std::unique_ptr<PolicyServer> policies,
              CheckpointStore checkpoints, RecoveryPoints recovery_points);

  absl::Status Prepare();
  absl::Status MakeLearner(const TrajectorySchema& schema);
  absl::Status Restore(const SavedState& saved);
  absl::Status Imitate();
  absl::Status ImitateOnce(uint32_t episodes);
  absl::Status Train();
  absl::Status TrainOnce();
  void Account(const TrainResult& result, const ExperienceSummary& experience);
  absl::Status Finish();

  bool OutOfBudget() const;
  CheckpointManifest Manifest() const;
  void KeepRecoveryPoint();
  absl::Status WriteCheckpoint();
  void PostponeIfFailed(const absl::Status& written);
  absl::Status WriteCheckpointForEvaluation();
  void Publish();
  Usage Used() const;
  double SuccessRate() const;  // NaN if the task has no success.
  void Report();
  absl::Status Fail(const absl::Status& status);

  // Constant after construction.
  ServiceContext& service_;
  const JobSpec& job_;

  DataClient data_;
  std::unique_ptr<PolicyServer> policies_;
  CheckpointStore checkpoints_;
  RecoveryPoints recovery_points_;
  std::unique_ptr<MetricsLog> metrics_;
  std::unique_ptr<BatchBuilder> batches_;
  std::unique_ptr<PpoLearner> learner_;
  TrainingMetrics gauges_;

  TimeLedger ledger_{"busy"};
  const std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point reported_;
  std::chrono::steady_clock::time_point checkpointed_;

  RecoveryPace recovery_pace_;
  std::chrono::steady_clock::time_point recovery_counted_;  // So far.
  absl::Status recovery_status_;  // Of the newest attempt.

  Usage used_before_;  // By former lives of the run.
  Usage used_;         // Steps so far; its seconds are not kept up to date.
  bool imitated_ = false;
  double imitation_share_ = 0;
  EpisodeWindow episodes_;
  double waited_share_ = 0;      // Of the last train step, for data.
  int64_t next_evaluation_ = 0;  // At so many environment steps; 0: none due.
  LearnerStatus status_;
};

}  // namespace flywheel
