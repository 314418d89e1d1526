#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "cli/progress_line.h"
#include "cli/progress_meter.h"
#include "cli/progress_reporter.h"

namespace flywheel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
const absl::Time kStart = absl::FromUnixSeconds(1000);

Job RunningJob(LearnerPhase phase, double progress, int64_t steps) {
  Job job;
  job.state = JobState::kRunning;
  job.learner = LearnerStatus{.phase = phase,
                              .progress = progress,
                              .train_steps = steps / 4096,
                              .environment_steps = steps,
                              .policy_lag_counts = {{0, 1}, {1, 8}, {3, 1}}};
  return job;
}

// A meter that has seen 13,400 environment steps and 1 % a second.
ProgressMeter SteadyMeter() {
  ProgressMeter meter;
  for (int i = 0; i <= 10; ++i) {
    meter.Observe(kStart + absl::Seconds(i),
                  {.progress = 0.36 + 0.01 * i,
                   .environment_steps = 921600 - 134000 + 13400 * i});
  }
  return meter;
}

TEST(ProgressMeterTest, KnowsNothingAtFirst) {
  ProgressMeter meter;
  EXPECT_TRUE(std::isnan(meter.environment_steps_per_second()));
  meter.Observe(kStart, {.environment_steps = 10});
  EXPECT_TRUE(std::isnan(meter.environment_steps_per_second()));
  EXPECT_TRUE(std::isnan(meter.seconds_left()));
}

TEST(ProgressMeterTest, MeasuresTheNewestHalfMinute) {
  ProgressMeter meter;
  int64_t steps = 1;
  for (int i = 0; i <= 100; ++i) {
    steps += i < 60 ? 10 : 1000;
    meter.Observe(kStart + absl::Seconds(i),
                  {.progress = i / 200.0, .environment_steps = steps});
  }
  EXPECT_DOUBLE_EQ(meter.environment_steps_per_second(), 1000);
  EXPECT_NEAR(meter.seconds_left(), 100, 1e-6);
}

TEST(ProgressMeterTest, SecondsOfImitationDoNotCount) {
  ProgressMeter meter;
  meter.Observe(kStart, {.environment_steps = 0});
  meter.Observe(kStart + absl::Seconds(20), {.environment_steps = 0});
  meter.Observe(kStart + absl::Seconds(21), {.environment_steps = 500});
  EXPECT_TRUE(std::isnan(meter.environment_steps_per_second()));
  meter.Observe(kStart + absl::Seconds(22), {.environment_steps = 1500});
  EXPECT_DOUBLE_EQ(meter.environment_steps_per_second(), 1000);
}

TEST(ProgressMeterTest, ALearnerThatGoesBackStartsItAnew) {
  ProgressMeter meter = SteadyMeter();
  meter.Observe(kStart + absl::Seconds(11),
                {.progress = 0.4, .environment_steps = 800000});
  EXPECT_TRUE(std::isnan(meter.environment_steps_per_second()));
}

TEST(LiveLineTest, ShowsEverythingWhereThereIsRoom) {
  Job job = RunningJob(LearnerPhase::kTraining, 0.46, 921600);
  job.learner->episode_return_mean = 2913;
  EXPECT_EQ(LiveLine(job, SteadyMeter(), 200),
            "training    46% ▕█████████▏          ▏ 921,600 env steps · "
            "13,400/s · train step 225 · return 2913 · lag 1.1 (max 3) · 54 s "
            "left");
}

TEST(LiveLineTest, ShowsSuccessWhereTheTaskHasIt) {
  Job job = RunningJob(LearnerPhase::kTraining, 0.5, 4096);
  job.learner->success_rate = 0.835;
  job.learner->episode_return_mean = 3;
  const std::string line = LiveLine(job, ProgressMeter(), 200);
  EXPECT_TRUE(absl::StrContains(line, "success 83.5 %"));
  EXPECT_FALSE(absl::StrContains(line, "return"));
}

TEST(LiveLineTest, NeverIsLongerThanTheTerminal) {
  Job job = RunningJob(LearnerPhase::kTraining, 0.46, 921600);
  job.learner->episode_return_mean = 2913;
  for (int columns = 20; columns < 140; ++columns) {
    const std::string line = LiveLine(job, SteadyMeter(), columns);
    ASSERT_LE(Columns(line), columns) << line;
    ASSERT_TRUE(absl::StartsWith(line, "training    46%")) << line;
  }
}

TEST(LiveLineTest, TheBarIsEmptyAtTheStartAndFullAtTheEnd) {
  const auto bar = [](double progress) {
    return LiveLine(RunningJob(LearnerPhase::kTraining, progress, 0),
                    ProgressMeter(), 60);
  };
  EXPECT_TRUE(absl::StrContains(bar(0), "▕                    ▏"));
  EXPECT_TRUE(absl::StrContains(bar(1), "▕████████████████████▏"));
  EXPECT_TRUE(absl::StrContains(bar(7), "100% ▕████████████████████▏"));
  EXPECT_EQ(Columns(bar(0.377)), Columns(bar(1)));
  EXPECT_TRUE(absl::StrContains(bar(kNan), "%"));
}

TEST(PlainLineTest, IsAsciiWithTheSameFigures) {
  Job job = RunningJob(LearnerPhase::kTraining, 0.46, 921600);
  job.learner->episode_return_mean = -12.5;
  EXPECT_EQ(
      PlainLine(job, SteadyMeter()),
      "training: 46%, 921,600 env steps, 13,400/s, train step 225, return "
      "-12.5, lag 1.1 (max 3), 54 s left");
}

TEST(PhaseTextTest, SaysWhatTheJobDoes) {
  Job job;
  EXPECT_EQ(PhaseText(job), "starting");
  job.state = JobState::kRunning;
  EXPECT_EQ(PhaseText(job), "starting");
  job.learner = LearnerStatus{.phase = LearnerPhase::kCollecting};
  job.buffer = BufferStatus{.demonstrations = 120};
  job.spec.pretraining.episodes = 500;
  EXPECT_EQ(PhaseText(job), "collecting 120/500");
  job.learner->phase = LearnerPhase::kImitating;
  EXPECT_EQ(PhaseText(job), "imitating");
  job.learner->phase = LearnerPhase::kTraining;
  job.evaluation = EvaluationStatus{.episodes = 3, .episodes_total = 20};
  EXPECT_EQ(PhaseText(job), "training");
  job.learner->phase = LearnerPhase::kFinished;
  EXPECT_EQ(PhaseText(job), "evaluating 3/20");
  EXPECT_TRUE(absl::StrContains(PlainLine(job, ProgressMeter()), ": 15%"));
  job.state = JobState::kRecovering;
  EXPECT_EQ(PhaseText(job), "recovering");
  job.state = JobState::kCancelling;
  EXPECT_EQ(PhaseText(job), "stopping");
}

TEST(NewsTest, IsOneLineEach) {
  EXPECT_EQ(EvaluationLine({.environment_steps = 200000,
                            .episodes = 20,
                            .episode_return_mean = 2913}),
            "evaluation at 200,000 env steps: return 2913 (20 episodes)");
  EXPECT_EQ(EvaluationLine({.environment_steps = 200000,
                            .episodes = 200,
                            .success_rate = 0.945,
                            .final = true}),
            "final evaluation at 200,000 env steps: success 94.5 % (200 "
            "episodes)");
  EXPECT_EQ(RestartLine({.role = Role::kRollout, .reason = "signal 9"}),
            "rollout 0 was replaced: signal 9");
}

ProgressReporter::Options Plain() {
  return {.terminal = {}, .columns = [] { return 80; }};
}

std::vector<std::string> LinesOf(const std::ostringstream& out) {
  return absl::StrSplit(out.str(), '\n', absl::SkipEmpty());
}

TEST(PlainReporterTest, WritesALineEveryTenSecondsWithoutEscapeCodes) {
  std::ostringstream out;
  ProgressReporter reporter(out, Plain());
  for (int i = 0; i <= 100; ++i) {
    reporter.Update(RunningJob(LearnerPhase::kTraining, 0.01 * i, 4096 + i),
                    kStart + absl::Seconds(0.5 * i));
  }
  EXPECT_EQ(LinesOf(out).size(), 6);
  EXPECT_FALSE(absl::StrContains(out.str(), "\x1b"));
  EXPECT_FALSE(absl::StrContains(out.str(), "\r"));
}

TEST(PlainReporterTest, ANewPhaseIsSaidAtOnce) {
  std::ostringstream out;
  ProgressReporter reporter(out, Plain());
  reporter.Update(RunningJob(LearnerPhase::kImitating, 0, 0), kStart);
  reporter.Update(RunningJob(LearnerPhase::kTraining, 0, 0),
                  kStart + absl::Seconds(1));
  EXPECT_EQ(LinesOf(out).size(), 2);
}

TEST(PlainReporterTest, TellsEachEvaluationAndRestartOnce) {
  std::ostringstream out;
  ProgressReporter reporter(out, Plain());
  Job job = RunningJob(LearnerPhase::kTraining, 0.1, 4096);
  job.evaluations = {{.episode_return_mean = 1}};
  job.recoveries = {{.died = kStart, .reason = "signal 9"}};
  for (int i = 0; i < 5; ++i) reporter.Update(job, kStart + absl::Seconds(i));
  // The oldest are forgotten once there are many.
  job.recoveries = {{.role = Role::kLearner,
                     .died = kStart + absl::Seconds(1),
                     .reason = "exit code 1"}};
  for (int i = 5; i < 9; ++i) reporter.Update(job, kStart + absl::Seconds(i));
  const auto lines = LinesOf(out);
  EXPECT_EQ(std::count(lines.begin(), lines.end(),
                       "rollout 0 was replaced: signal 9"),
            1);
  EXPECT_EQ(std::count(lines.begin(), lines.end(),
                       "learner 0 was replaced: exit code 1"),
            1);
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(),
                          [](const std::string& line) {
                            return absl::StartsWith(line, "evaluation");
                          }),
            1);
}

TEST(LiveReporterTest, RedrawsOneLineAndLeavesNothingBehind) {
  std::ostringstream out;
  ProgressReporter reporter(
      out, {.terminal = {.live = true}, .columns = [] { return 60; }});
  Job job = RunningJob(LearnerPhase::kTraining, 0.1, 4096);
  reporter.Update(job, kStart);
  reporter.Update(job, kStart + absl::Seconds(1));
  EXPECT_EQ(out.str().find('\n'), std::string::npos);
  job.state = JobState::kSucceeded;
  reporter.Update(job, kStart + absl::Seconds(2));
  EXPECT_TRUE(absl::EndsWith(out.str(), "\r\x1b[K"));
}

TEST(LiveReporterTest, NewsStandAboveTheLine) {
  std::ostringstream out;
  ProgressReporter reporter(
      out, {.terminal = {.live = true}, .columns = [] { return 60; }});
  reporter.Update(RunningJob(LearnerPhase::kTraining, 0.1, 4096), kStart);
  reporter.Say("hello");
  EXPECT_TRUE(absl::EndsWith(out.str(), "\r\x1b[Khello\n"));
}

TEST(LiveReporterTest, ColorsOnlyWhereItMay) {
  for (const bool color : {false, true}) {
    std::ostringstream out;
    ProgressReporter reporter(out, {.terminal = {.live = true, .color = color},
                                    .columns = [] { return 60; }});
    reporter.Update(RunningJob(LearnerPhase::kTraining, 0.1, 4096), kStart);
    EXPECT_EQ(absl::StrContains(out.str(), "\x1b[1m"), color);
  }
}

}  // namespace
}  // namespace flywheel
