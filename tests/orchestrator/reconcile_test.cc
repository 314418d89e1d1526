#include "services/orchestrator/reconcile.h"

#include <gtest/gtest.h>

#include "tests/orchestrator/observed_jobs.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

ObservedJob NewJob() {
  return {
      .state = JobState::kPending,
      .slots = {{.slot = kBuffer}, {.slot = kLearner}, {.slot = kRollout0}}};
}

TEST(ReconcileTest, PlacesEveryProcessOfANewJob) {
  EXPECT_EQ(Actions(NewJob()), (Texts{"state PLACING", "start buffer-0",
                                      "start learner-0", "start rollout-0"}));
}

TEST(ReconcileTest, StaysPlacingUntilTheLastMemberJoined) {
  ObservedJob job = RunningJob();
  job.state = JobState::kPlacing;
  SlotOf(job, kRollout1).joined.reset();
  EXPECT_EQ(Actions(job), Texts{});
  SlotOf(job, kRollout1).joined = At(0);
  EXPECT_EQ(Actions(job), (Texts{"state RUNNING"}));
}

TEST(ReconcileTest, LeavesARunningJobAlone) {
  const Plan plan = Reconcile(RunningJob(), At(0.1), {});
  EXPECT_TRUE(plan.actions.empty());
  EXPECT_EQ(plan.wake, At(10)) << "when the members would count as silent";
}

TEST(ReconcileTest, ReplacesADeadProcessAtOnceWhateverItsRole) {
  for (const Slot& slot : {kBuffer, kLearner, kRollout0, kRollout1}) {
    for (const ProcessEnd& end :
         {ProcessEnd{.signal = 9}, ProcessEnd{.signal = 11},
          ProcessEnd{.exit_code = 1}, ProcessEnd{.exit_code = 75},
          ProcessEnd{.exit_code = 0}}) {
      ObservedJob job = RunningJob();
      SlotOf(job, slot) = Ended(slot, end);
      EXPECT_EQ(Actions(job),
                (Texts{"start " + SlotName(slot), "state RECOVERING"}))
          << SlotName(slot) << " " << Description(end);
    }
  }
}

TEST(ReconcileTest, RecoversOnceTheReplacementJoined) {
  ObservedJob job = RunningJob();
  job.state = JobState::kRecovering;
  SlotOf(job, kLearner).joined.reset();
  EXPECT_EQ(Actions(job), Texts{});
  SlotOf(job, kLearner).joined = At(0);
  EXPECT_EQ(Actions(job), (Texts{"state RUNNING"}));
}

TEST(ReconcileTest, WaitsLongerBeforeEachReplacementOfAQuickCrash) {
  struct Row {
    int crashes;
    double wait;
  };
  for (const Row& row : {Row{1, 0}, Row{2, 0.1}, Row{3, 0.2}, Row{4, 0.4},
                         Row{6, 1}, Row{19, 1}}) {
    ObservedJob job = RunningJob();
    job.state = JobState::kRecovering;
    SlotOf(job, kRollout0) =
        Ended(kRollout0, {.signal = 9}, /*ended=*/1, row.crashes);
    if (row.wait > 0) {
      const Plan early = Reconcile(job, At(1 + row.wait - 0.01), {});
      EXPECT_TRUE(early.actions.empty()) << row.crashes;
      EXPECT_EQ(early.wake, At(1 + row.wait)) << row.crashes;
    }
    EXPECT_EQ(Actions(job, 1 + row.wait), (Texts{"start rollout-0"}))
        << row.crashes;
  }
}

TEST(ReconcileTest, AConfigurationErrorEndsTheJobWithItsLastWords) {
  for (const int code : {64, 78}) {
    ObservedJob job = RunningJob();
    SlotOf(job, kLearner) = Ended(
        kLearner, {.exit_code = code, .last_log_line = "device: no CUDA here"});
    const Plan plan = Reconcile(job, At(1), {});
    EXPECT_EQ(ActionsOf(plan),
              (Texts{absl::StrCat("end FAILED: learner-0 cannot run "
                                  "this job (exit code ",
                                  code, "): device: no CUDA here")}));
    EXPECT_EQ(std::get<DecideEnding>(plan.actions[0]).ending.exit_code, code);
  }
}

TEST(ReconcileTest, AMissingProgramEndsTheJob) {
  ObservedJob job = NewJob();
  job.state = JobState::kPlacing;
  SlotOf(job, kRollout0) = Ended(
      kRollout0, {.never_started = true, .last_log_line = "no such file"});
  EXPECT_EQ(Actions(job), (Texts{"end FAILED: rollout-0 could not be started: "
                                 "no such file"}));
}

TEST(ReconcileTest, AFailedLearnerEndsTheJob) {
  ObservedJob job = RunningJob();
  job.learner->phase = LearnerPhase::kFailed;
  job.learner->failure = "loss is not finite at train step 12";
  EXPECT_EQ(Actions(job), (Texts{"end FAILED: learner-0 failed: loss is "
                                 "not finite at train step 12"}));
}

TEST(ReconcileTest, TwentyDeathsOfOneSlotWithinAMinuteEndTheJob) {
  ObservedJob job = RunningJob();
  SlotOf(job, kRollout1) =
      Ended(kRollout1, {.exit_code = 1, .last_log_line = "no display"}, 30, 20);
  EXPECT_EQ(Actions(job, 31),
            (Texts{"end FAILED: rollout-1 ended 20 times in a row, last "
                   "with exit code 1: no display"}));
}

TEST(ReconcileTest, TwentyDeathsOverALongTimeDoNot) {
  ObservedJob job = RunningJob();
  ObservedSlot& slot = SlotOf(job, kRollout1);
  slot = Ended(kRollout1, {.signal = 9}, 0, 0);
  for (int i = 0; i < 20; ++i) slot.crashes.push_back(At(100 * i));
  slot.ended = slot.crashes.back();
  slot.quick_crashes = 1;
  EXPECT_TRUE(Contains(Actions(job, 1901), "start rollout-1"));
}

TEST(ReconcileTest, KillsAMemberThatIsSilentForTenSeconds) {
  ObservedJob job = RunningJob();
  for (ObservedSlot& slot : job.slots) slot.heard = At(5);
  SlotOf(job, kBuffer).heard = At(0);
  EXPECT_EQ(Actions(job, 9.9), Texts{});
  EXPECT_EQ(Actions(job, 10), (Texts{"kill buffer-0: silent for 10s"}));
  SlotOf(job, kBuffer).kill_sent = true;
  EXPECT_EQ(Actions(job, 11), Texts{}) << "one kill is enough";
}

TEST(ReconcileTest, KillsAProcessThatDoesNotJoinWithinAMinute) {
  ObservedJob job = RunningJob();
  job.state = JobState::kPlacing;
  for (ObservedSlot& slot : job.slots) slot.heard = At(55);
  SlotOf(job, kLearner).joined.reset();
  SlotOf(job, kLearner).heard = At(0);
  EXPECT_EQ(Actions(job, 59), Texts{});
  EXPECT_EQ(Actions(job, 60), (Texts{"kill learner-0: not joined within 1m"}));
}

TEST(ReconcileTest, CancellingDrainsLearnerAndRolloutsAtOnceAndTheBufferLast) {
  ObservedJob job = RunningJob();
  job.cancel_requested = true;
  EXPECT_EQ(Actions(job),
            (Texts{"state CANCELLING", "end CANCELLED: cancelled"}));
  job.state = JobState::kCancelling;
  job.ending = JobEnding{JobState::kCancelled, "cancelled"};
  EXPECT_EQ(Actions(job),
            (Texts{"drain learner-0", "drain rollout-0", "drain rollout-1"}));
  for (const Slot& slot : {kLearner, kRollout0, kRollout1}) {
    SlotOf(job, slot).running = false;
  }
  EXPECT_EQ(Actions(job), (Texts{"drain buffer-0"}));
  SlotOf(job, kBuffer).running = false;
  EXPECT_EQ(Actions(job), (Texts{"finish CANCELLED: cancelled"}));
}

TEST(ReconcileTest, CancellingEndsWithinTenSecondsEvenIfEverythingHangs) {
  ObservedJob job = RunningJob();
  job.state = JobState::kCancelling;
  job.ending = JobEnding{JobState::kCancelled, "cancelled"};
  for (const Slot& slot : {kLearner, kRollout0, kRollout1}) {
    SlotOf(job, slot).drain_asked = At(0);
  }
  EXPECT_EQ(Actions(job, 2), (Texts{"kill rollout-0: did not stop within 2s",
                                    "kill rollout-1: did not stop within 2s"}));
  for (const Slot& slot : {kRollout0, kRollout1}) {
    SlotOf(job, slot).running = false;
  }
  EXPECT_EQ(Reconcile(job, At(2), {}).wake, At(7));
  EXPECT_EQ(Actions(job, 7), (Texts{"kill learner-0: did not stop within 7s"}));
  SlotOf(job, kLearner).running = false;
  SlotOf(job, kBuffer).drain_asked = At(7);
  EXPECT_EQ(Actions(job, 9), (Texts{"kill buffer-0: did not stop within 2s"}));
}

TEST(ReconcileTest, CancellingAJobThatNeverRanFinishesAtOnce) {
  ObservedJob job = NewJob();
  job.state = JobState::kCancelling;
  job.ending = JobEnding{JobState::kCancelled, "cancelled"};
  EXPECT_EQ(Actions(job), (Texts{"finish CANCELLED: cancelled"}));
}

TEST(ReconcileTest, DeathsWhileStoppingAreNotReplaced) {
  ObservedJob job = RunningJob();
  job.state = JobState::kCancelling;
  job.ending = JobEnding{JobState::kCancelled, "cancelled"};
  for (ObservedSlot& slot : job.slots) slot.drain_asked = At(0);
  SlotOf(job, kRollout0) = Ended(kRollout0, {.exit_code = 64});
  EXPECT_EQ(Actions(job), Texts{});
}

TEST(ReconcileTest, FinishedTrainingIsDrainedEvaluatedAndSucceeds) {
  ObservedJob job = RunningJob();
  job.learner->phase = LearnerPhase::kFinished;
  job.learner->newest_checkpoint = "step-000000000007";
  SlotOf(job, kLearner) = Ended(kLearner, {.exit_code = 0}, 0, 0);
  EXPECT_EQ(Actions(job), (Texts{"drain rollout-0", "drain rollout-1"}));
  SlotOf(job, kRollout0).running = SlotOf(job, kRollout1).running = false;
  EXPECT_EQ(Actions(job), (Texts{"drain buffer-0"}));
  SlotOf(job, kBuffer).running = false;
  EXPECT_EQ(Actions(job), (Texts{"evaluate step-000000000007 10 final"}));
  job.final_evaluation_done = true;
  EXPECT_EQ(Actions(job), (Texts{"finish SUCCEEDED: budget reached"}));
}

TEST(ReconcileTest, WithoutFinalEpisodesThereIsNoFinalEvaluation) {
  ObservedJob job = RunningJob();
  job.final_episodes = 0;
  job.learner->phase = LearnerPhase::kFinished;
  job.learner->newest_checkpoint = "step-000000000007";
  for (ObservedSlot& slot : job.slots) slot.running = false;
  EXPECT_EQ(Actions(job), (Texts{"finish SUCCEEDED: budget reached"}));
}

TEST(ReconcileTest, ALearnerThatWasInterruptedIsReplaced) {
  ObservedJob job = RunningJob();
  job.learner->phase = LearnerPhase::kFinished;
  job.learner->interrupted = true;
  SlotOf(job, kLearner) = Ended(kLearner, {.exit_code = 0});
  EXPECT_EQ(Actions(job), (Texts{"start learner-0", "state RECOVERING"}));
}

TEST(ReconcileTest, EvaluatesTheNewestDueCheckpointAndSkipsOlderOnes) {
  ObservedJob job = RunningJob();
  job.learner->evaluation_checkpoints = {"step-1", "step-2", "step-3"};
  EXPECT_EQ(Actions(job), (Texts{"evaluate step-3 5"}));
  job.evaluated = {"step-3"};
  EXPECT_EQ(Actions(job), Texts{});
  job.learner->evaluation_checkpoints.push_back("step-4");
  EXPECT_EQ(Actions(job), (Texts{"evaluate step-4 5"}));
}

ObservedJob EvaluatingJob() {
  ObservedJob job = RunningJob();
  job.evaluation = ObservedEvaluation{
      .checkpoint = "step-1",
      .progressed = At(0),
      .process = Joined({.role = Role::kEvaluation}, /*heard=*/1000)};
  for (ObservedSlot& slot : job.slots) slot.heard = At(1000);
  return job;
}

TEST(ReconcileTest, RunsOneEvaluationAtATime) {
  ObservedJob job = EvaluatingJob();
  job.learner->evaluation_checkpoints = {"step-1", "step-2"};
  EXPECT_EQ(Actions(job, 1), Texts{});
}

TEST(ReconcileTest, KillsAnEvaluationWithoutProgress) {
  EXPECT_EQ(Actions(EvaluatingJob(), 299), Texts{});
  EXPECT_EQ(Actions(EvaluatingJob(), 300),
            (Texts{"kill evaluation-0: no episode within 5m"}));
}

TEST(ReconcileTest, TriesAnEvaluationThreeTimesThenGivesItUp) {
  ObservedJob job = EvaluatingJob();
  job.evaluation->process = Ended({.role = Role::kEvaluation},
                                  {.exit_code = 1, .last_log_line = "no file"});
  job.evaluation->failures = 2;
  EXPECT_EQ(Actions(job, 1), (Texts{"evaluate step-1 5"}));
  job.evaluation->failures = 3;
  EXPECT_EQ(Actions(job, 1),
            (Texts{"give up: evaluation of step-1 failed 3 times, last "
                   "with exit code 1: no file"}));
}

TEST(ReconcileTest, AFinalEvaluationThatKeepsFailingFailsTheJob) {
  ObservedJob job = EvaluatingJob();
  job.learner->phase = LearnerPhase::kFinished;
  for (ObservedSlot& slot : job.slots) slot.running = false;
  job.evaluation->final = true;
  job.evaluation->failures = 3;
  job.evaluation->process =
      Ended({.role = Role::kEvaluation}, {.exit_code = 1});
  EXPECT_TRUE(Contains(Actions(job, 1).front(),
                       "end FAILED: evaluation of step-1 failed"));
}

TEST(ReconcileTest, AnEvaluationUnderWayIsFinishedBeforeTheFinalOne) {
  ObservedJob job = EvaluatingJob();
  job.learner->phase = LearnerPhase::kFinished;
  job.learner->newest_checkpoint = "step-2";
  for (ObservedSlot& slot : job.slots) slot.running = false;
  EXPECT_EQ(Actions(job, 1), Texts{});
  job.evaluation.reset();
  job.evaluated = {"step-1"};
  EXPECT_EQ(Actions(job, 1), (Texts{"evaluate step-2 10 final"}));
}

TEST(ReconcileTest, CancellingStopsAnEvaluationToo) {
  ObservedJob job = EvaluatingJob();
  job.ending = JobEnding{JobState::kCancelled, "cancelled"};
  job.state = JobState::kCancelling;
  for (ObservedSlot& slot : job.slots) slot.running = false;
  EXPECT_EQ(Actions(job, 1), (Texts{"drain evaluation-0"}));
}

TEST(ReconcileTest, AnEndedJobKillsWhatIsLeft) {
  ObservedJob job = RunningJob();
  job.state = JobState::kFailed;
  for (const Slot& slot : {kLearner, kRollout1})
    SlotOf(job, slot) = {.slot = slot};
  EXPECT_EQ(Actions(job), (Texts{"kill buffer-0: the job has ended",
                                 "kill rollout-0: the job has ended"}));
}

}  // namespace
}  // namespace flywheel
