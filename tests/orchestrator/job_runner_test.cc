#include "services/orchestrator/job_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/orchestrator/observed_jobs.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

constexpr Slot kEvaluation{.role = Role::kEvaluation};

// One job, its processes played by the test.
class JobRunnerTest : public ::testing::Test {
 protected:
  JobRunnerTest() : runner_(SmallJob(), {.orchestrator = "unix:/x"}) {}

  static Job SmallJob() {
    Job job{.job_id = "job-1", .created = At(0), .run_folder = "/runs/1"};
    job.spec.task = "counting";
    job.spec.resources.rollouts = 2;
    job.spec.resources.learner_threads = 3;
    job.spec.evaluation.episodes = 4;
    return job;
  }

  // Takes a step and remembers what was started; returns it as text.
  std::vector<std::string> Step() {
    std::vector<std::string> texts;
    for (const Order& order : runner_.Step(now_)) {
      if (const auto* start = std::get_if<ProcessOrder>(&order)) {
        started_[start->process.slot] = *start;
        texts.push_back("start " + SlotName(start->process.slot));
      } else if (const auto* stop = std::get_if<StopOrder>(&order)) {
        texts.push_back("stop " + SlotName(stop->process.slot));
      } else if (const auto* kill = std::get_if<KillOrder>(&order)) {
        texts.push_back("kill " + SlotName(kill->process.slot));
      } else {
        texts.push_back("save");
      }
    }
    return texts;
  }

  Member MemberOf(const Slot& slot) {
    return {.role = slot.role,
            .index = slot.index,
            .incarnation = started_[slot].process.incarnation};
  }

  void Join(const Slot& slot, const MemberStatus& status = {}) {
    ASSERT_TRUE(runner_.Register(MemberOf(slot), now_).ok());
    Hear(slot, status);
  }

  Directive Hear(const Slot& slot, const MemberStatus& status) {
    return *runner_.HearFrom(MemberOf(slot), status, now_);
  }

  void End(const Slot& slot, const ProcessEnd& end) {
    runner_.ProcessEnded(started_[slot].process, end, now_);
  }

  void Run() {
    Step();
    for (const Slot& slot : {kBuffer, kLearner, kRollout0, kRollout1}) {
      Join(slot);
    }
    Step();
    ASSERT_EQ(runner_.job().state, JobState::kRunning);
  }

  // Ends a running job's training and its processes.
  void FinishTraining() {
    Hear(kLearner, LearnerStatus{.phase = LearnerPhase::kFinished,
                                 .train_steps = 9,
                                 .newest_checkpoint = "step-9"});
    Step();
    for (const Slot& slot : {kLearner, kRollout0, kRollout1}) End(slot, {});
    Step();
    End(kBuffer, {});
    Step();
  }

  void Pass(double seconds) { now_ += absl::Seconds(seconds); }

  absl::Time now_ = At(0);
  JobRunner runner_;
  std::map<Slot, ProcessOrder> started_;
};

TEST_F(JobRunnerTest, StartsEveryProcessWithWhatItNeedsToJoin) {
  EXPECT_EQ(Step(), (Texts{"start buffer-0", "start learner-0",
                           "start rollout-0", "start rollout-1", "save"}));
  const ProcessOrder& order = started_[kRollout1];
  EXPECT_EQ(order.program, "flywheel-rollout");
  EXPECT_EQ(order.arguments,
            (Texts{"--orchestrator=unix:/x", "--job_id=job-1", "--index=1",
                   absl::StrCat("--incarnation=", absl::ToUnixMicros(now_))}));
  EXPECT_EQ(order.environment, (Texts{"OMP_NUM_THREADS=1"}));
  EXPECT_EQ(order.log_path, "/runs/1/logs/rollout-1.log");
  EXPECT_EQ(started_[kLearner].environment, (Texts{"OMP_NUM_THREADS=3"}));
}

TEST_F(JobRunnerTest, RunsOnceAllHaveRegisteredAndSentAHeartbeat) {
  Step();
  for (const Slot& slot : {kBuffer, kLearner, kRollout0}) Join(slot);
  ASSERT_TRUE(runner_.Register(MemberOf(kRollout1), now_).ok());
  Step();
  EXPECT_EQ(runner_.job().state, JobState::kPlacing);
  Pass(3);
  Hear(kRollout1, {});
  Step();
  EXPECT_EQ(runner_.job().state, JobState::kRunning);
  EXPECT_EQ(runner_.job().running, now_);
}

TEST_F(JobRunnerTest, RegisteringAgainChangesNothing) {
  Run();
  const absl::StatusOr<Assignment> again =
      runner_.Register(MemberOf(kRollout0), now_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->run_folder, "/runs/1");
  EXPECT_EQ(again->job.task, "counting");
  EXPECT_EQ(Step(), Texts{});
  EXPECT_EQ(runner_.job().state, JobState::kRunning);
}

TEST_F(JobRunnerTest, AnOlderIncarnationIsFenced) {
  Run();
  const Member old = MemberOf(kRollout0);
  End(kRollout0, {.signal = 9});
  Step();
  Join(kRollout0);
  ASSERT_GT(MemberOf(kRollout0).incarnation, old.incarnation);
  const absl::Status status = runner_.Register(old, now_).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(std::string(status.message()), "rollout-0 is fenced"));
  EXPECT_EQ(*runner_.HearFrom(old, RolloutStatus{.environment_steps = 7}, now_),
            Directive::kFenced);
  EXPECT_EQ(runner_.job().rollouts[0].environment_steps, 0)
      << "what a fenced process says does not count";
}

TEST_F(JobRunnerTest, AnIncarnationNobodyPlacedIsRefused) {
  Run();
  Member stranger = MemberOf(kLearner);
  ++stranger.incarnation;
  EXPECT_EQ(runner_.Register(stranger, now_).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

TEST_F(JobRunnerTest, AnUnknownSlotIsNotFound) {
  Run();
  const absl::Status status =
      runner_
          .Register({.role = Role::kRollout, .index = 2, .incarnation = 1},
                    now_)
          .status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(
      Contains(std::string(status.message()), "job job-1 has no rollout-2"));
}

TEST_F(JobRunnerTest, AStatusOfAnotherRoleIsIgnored) {
  Run();
  Hear(kRollout0, LearnerStatus{.phase = LearnerPhase::kFailed});
  EXPECT_FALSE(runner_.job().learner.has_value());
}

TEST_F(JobRunnerTest, IncarnationsGrowEvenWhereTheClockStandsStill) {
  Run();
  int64_t last = MemberOf(kRollout0).incarnation;
  for (int i = 0; i < 3; ++i) {
    End(kRollout0, {.signal = 9});
    Pass(1e-9);
    Step();
    Pass(2);
    Step();
    ASSERT_GT(MemberOf(kRollout0).incarnation, last);
    last = MemberOf(kRollout0).incarnation;
  }
}

TEST_F(JobRunnerTest, ARestartIsRecordedFromDeathToProduction) {
  Run();
  Hear(kRollout1, RolloutStatus{.environment_steps = 500});
  Pass(5);
  const absl::Time died = now_;
  End(kRollout1, {.signal = 9});
  EXPECT_EQ(Step(), (Texts{"start rollout-1", "save"}));
  Pass(1);
  ASSERT_TRUE(runner_.Register(MemberOf(kRollout1), now_).ok());
  Hear(kRollout1, RolloutStatus{.environment_steps = 0});
  Pass(1);
  Hear(kRollout1, RolloutStatus{.environment_steps = 64});
  Pass(1);
  Hear(kRollout1, RolloutStatus{.environment_steps = 128});
  ASSERT_EQ(runner_.job().recoveries.size(), 1u);
  const Restart& restart = runner_.job().recoveries[0];
  EXPECT_EQ(restart.role, Role::kRollout);
  EXPECT_EQ(restart.index, 1);
  EXPECT_EQ(restart.reason, "signal 9");
  EXPECT_EQ(restart.died, died);
  EXPECT_EQ(restart.rejoined, died + absl::Seconds(1));
  EXPECT_EQ(restart.producing, died + absl::Seconds(2));
  EXPECT_EQ(runner_.job().restarts.at("rollout"), 1);
}

TEST_F(JobRunnerTest, TrainStepsLostAreThoseReportedBeyondTheCheckpoint) {
  Run();
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 120});
  End(kLearner, {.signal = 9});
  Step();
  Join(kLearner, LearnerStatus{.phase = LearnerPhase::kStarting});
  EXPECT_EQ(runner_.job().learner->train_steps, 120)
      << "one that is only starting knows nothing yet";
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 90});
  EXPECT_EQ(runner_.job().recoveries[0].train_steps_lost, 30);
  EXPECT_FALSE(runner_.job().recoveries[0].producing);
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 91});
  EXPECT_TRUE(runner_.job().recoveries[0].producing);
}

TEST_F(JobRunnerTest, ABufferProducesAgainOnceTheLearnerGoesOn) {
  Run();
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 10});
  End(kBuffer, {.signal = 9});
  Step();
  Join(kBuffer, BufferStatus{});
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 10});
  EXPECT_FALSE(runner_.job().recoveries[0].producing);
  Hear(kLearner,
       LearnerStatus{.phase = LearnerPhase::kTraining, .train_steps = 11});
  EXPECT_TRUE(runner_.job().recoveries[0].producing);
}

TEST_F(JobRunnerTest, AKilledLearnerDoesNotGetItsTimeBack) {
  Run();
  EXPECT_EQ(runner_.Register(MemberOf(kLearner), now_)->elapsed_seconds, 0);
  Pass(100);
  Hear(kLearner, LearnerStatus{.phase = LearnerPhase::kTraining,
                               .seconds = 140});  // 40 before a resume.
  Pass(2);
  End(kLearner, {.signal = 9});
  Step();
  Pass(3);
  EXPECT_EQ(runner_.Register(MemberOf(kLearner), now_)->elapsed_seconds, 145);
}

TEST_F(JobRunnerTest, ASilentMemberIsKilledAndItsRestartSaysWhy) {
  Run();
  Pass(10);
  for (const Slot& slot : {kBuffer, kLearner, kRollout0}) Hear(slot, {});
  EXPECT_EQ(Step(), (Texts{"kill rollout-1"}));
  End(kRollout1, {.signal = 9});
  EXPECT_TRUE(Contains(Step(), "start rollout-1"));
  EXPECT_EQ(runner_.job().recoveries[0].reason, "silent for 10s");
}

TEST_F(JobRunnerTest, CancellingTellsMembersToDrainAndEndsTheJob) {
  Run();
  runner_.Cancel();
  EXPECT_EQ(Step(), (Texts{"stop learner-0", "stop rollout-0", "stop rollout-1",
                           "save"}));
  EXPECT_EQ(runner_.job().state, JobState::kCancelling);
  EXPECT_EQ(Hear(kLearner, {}), Directive::kDrain);
  EXPECT_EQ(Hear(kBuffer, {}), Directive::kContinue);
  for (const Slot& slot : {kLearner, kRollout0, kRollout1}) End(slot, {});
  EXPECT_EQ(Step(), (Texts{"stop buffer-0"}));
  End(kBuffer, {});
  EXPECT_EQ(Step(), (Texts{"save"}));
  EXPECT_EQ(runner_.job().state, JobState::kCancelled);
  EXPECT_EQ(runner_.job().finished, now_);
  EXPECT_TRUE(runner_.job().recoveries.empty())
      << "ends that were asked for are no crashes";
}

TEST_F(JobRunnerTest, AJobTellsWhenItsLearnerHadToBeKilledWhileCancelling) {
  Run();
  runner_.Cancel();
  Step();
  End(kRollout0, {});
  End(kRollout1, {});
  Pass(7);
  EXPECT_EQ(Step(), (Texts{"kill learner-0"}));
  End(kLearner, {.signal = 9});
  Step();
  End(kBuffer, {});
  Step();
  EXPECT_EQ(runner_.job().message,
            "cancelled; learner-0 did not stop within 7s and was killed");
}

TEST_F(JobRunnerTest, FinishedTrainingIsEvaluatedAndSucceeds) {
  Run();
  FinishTraining();
  const ProcessOrder& order = started_[kEvaluation];
  EXPECT_EQ(order.program, "flywheel-evaluate");
  EXPECT_TRUE(Contains(order.arguments, "--checkpoint=step-9"));
  EXPECT_TRUE(Contains(order.arguments, "--episodes=4"));
  EXPECT_TRUE(Contains(order.arguments,
                       "--output=/runs/1/evaluations/step-9-final.json"));
  Join(kEvaluation, EvaluationStatus{.episodes = 2, .episodes_total = 4});
  EXPECT_EQ(runner_.job().evaluation->episodes, 2);
  runner_.EvaluationEnded(
      order.process, {},
      Evaluation{.policy_version = 9, .episode_return_mean = 12.5}, now_);
  Step();
  EXPECT_EQ(runner_.job().state, JobState::kSucceeded);
  ASSERT_EQ(runner_.job().evaluations.size(), 1u);
  EXPECT_TRUE(runner_.job().evaluations[0].final);
  EXPECT_EQ(runner_.job().evaluations[0].checkpoint, "step-9");
  EXPECT_EQ(runner_.job().evaluations[0].episode_return_mean, 12.5);
  EXPECT_FALSE(runner_.job().evaluation);
}

TEST_F(JobRunnerTest, AnEvaluationWithoutAReadableResultIsTriedAgain) {
  Run();
  FinishTraining();
  for (int i = 0; i < 3; ++i) {
    runner_.EvaluationEnded(started_[kEvaluation].process, {},
                            absl::DataLossError("cannot read x.json"), now_);
    Pass(1);
    if (i < 2) {
      EXPECT_TRUE(Contains(Step(), "start evaluation-0"));
    }
  }
  Step();
  EXPECT_EQ(runner_.job().state, JobState::kFailed);
  EXPECT_TRUE(Contains(runner_.job().message, "cannot read x.json"));
}

TEST_F(JobRunnerTest, ADeathThatEndsTheJobIsNoRestart) {
  Run();
  End(kRollout0, {.exit_code = 64, .last_log_line = "no such task"});
  Step();
  EXPECT_TRUE(Contains(runner_.job().message, "no such task"));
  EXPECT_EQ(runner_.job().exit_code, 64);
  EXPECT_TRUE(runner_.job().recoveries.empty());
  EXPECT_TRUE(runner_.job().restarts.empty());
}

TEST_F(JobRunnerTest, TheEndOfAnOlderLifeChangesNothing) {
  Run();
  const PlacedProcess old = started_[kRollout0].process;
  End(kRollout0, {.signal = 9});
  Step();
  Join(kRollout0);
  Step();
  runner_.ProcessEnded(old, {.signal = 9}, now_);
  EXPECT_EQ(Step(), Texts{});
  EXPECT_EQ(runner_.job().state, JobState::kRunning);
}

TEST_F(JobRunnerTest, EveryChangeGrowsTheRevision) {
  int64_t last = runner_.job().revision;
  const auto grown = [&] {
    const bool grew = runner_.job().revision > last;
    last = runner_.job().revision;
    return grew;
  };
  Run();
  EXPECT_TRUE(grown());
  Hear(kRollout0, RolloutStatus{.environment_steps = 1});
  EXPECT_TRUE(grown());
  Step();
  EXPECT_FALSE(grown()) << "nothing happened";
  End(kRollout0, {.signal = 9});
  EXPECT_TRUE(grown());
}

TEST_F(JobRunnerTest, KeepsTheNewestThousandRecoveries) {
  Run();
  for (int i = 0; i < 1005; ++i) {
    Pass(5);
    for (const Slot& slot : {kBuffer, kLearner, kRollout0}) Hear(slot, {});
    End(kRollout1, {.exit_code = 1});
    Step();
    Join(kRollout1, RolloutStatus{.environment_steps = 1});
    Step();
    Pass(3);
  }
  EXPECT_EQ(runner_.job().state, JobState::kRunning);
  EXPECT_EQ(runner_.job().recoveries.size(), 1000u);
  EXPECT_EQ(runner_.job().restarts.at("rollout"), 1005);
}

}  // namespace
}  // namespace flywheel
