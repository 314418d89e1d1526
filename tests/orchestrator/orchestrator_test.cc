#include "services/orchestrator/orchestrator.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "spdlog/logger.h"
#include "spdlog/sinks/null_sink.h"
#include "tests/orchestrator/fake_placement.h"
#include "tests/testing/temp_folder.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

constexpr Slot kBuffer{.role = Role::kBuffer};
constexpr Slot kLearner{.role = Role::kLearner};
constexpr Slot kRollout{.role = Role::kRollout};

// Remembers what it was told; a test waits for what it wants to hear.
class RecordingWatcher final : public JobWatcher {
 public:
  void OnJob(const Job& job, bool last) override {
    MutexLock lock(mutex_);
    jobs_.push_back(job);
    ended_ = ended_ || last;
    changed_.NotifyAll();
  }

  // The first job in `state` that was heard of; an empty one after 10 s.
  Job Await(JobState state) {
    MutexLock lock(mutex_);
    for (int waits = 0; waits < 100; ++waits) {
      for (const Job& job : jobs_) {
        if (job.state == state) return job;
      }
      changed_.WaitFor(mutex_, absl::Milliseconds(100));
    }
    return {};
  }

  std::vector<Job> jobs() {
    MutexLock lock(mutex_);
    return jobs_;
  }
  bool ended() {
    MutexLock lock(mutex_);
    return ended_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::vector<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

class OrchestratorTest : public ::testing::Test {
 protected:
  OrchestratorTest() { Start(); }

  void Start() {
    orchestrator_.reset();
    store_.reset();
    store_ = *JobStore::Open(folder_ / "jobs.db");
    auto placement = std::make_unique<FakePlacement>();
    placement_ = placement.get();
    orchestrator_ = std::make_unique<Orchestrator>(
        Orchestrator::Options{.address = "unix:/x",
                              .socket_folder = "/sockets",
                              .runs_folder = folder_ / "runs"},
        *store_, std::move(placement), clock_, log_);
    load_status_ = orchestrator_->Load();
  }

  static JobRequest Request() {
    JobRequest request;
    request.spec.name = "small";
    request.spec.task = "counting";
    request.spec.budget.train_steps = 1;
    request.spec.evaluation.episodes = 0;
    return request;
  }

  std::shared_ptr<RecordingWatcher> Watch(const std::string& job_id) {
    auto watcher = std::make_shared<RecordingWatcher>();
    EXPECT_TRUE(orchestrator_->WatchJob(job_id, 0, watcher).ok());
    return watcher;
  }

  void JoinAll(const std::string& job_id) {
    for (const Slot& slot : {kBuffer, kLearner, kRollout}) {
      const Member member = placement_->MemberOf(slot);
      ASSERT_TRUE(orchestrator_->Register(job_id, member).ok());
      ASSERT_TRUE(orchestrator_->HearFrom(job_id, member, {}).ok());
    }
  }

  const TempFolder folder_;
  const MonotonicClock clock_;
  spdlog::logger log_{"test", std::make_shared<spdlog::sinks::null_sink_mt>()};
  std::unique_ptr<JobStore> store_;
  FakePlacement* placement_ = nullptr;  // The orchestrator's.
  std::unique_ptr<Orchestrator> orchestrator_;
  absl::Status load_status_;
};

TEST_F(OrchestratorTest, RunsAJobFromPendingToItsEnd) {
  const absl::StatusOr<Job> job = orchestrator_->CreateJob(Request());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->state, JobState::kPending);
  const auto watcher = Watch(job->job_id);
  ASSERT_TRUE(placement_->AwaitStarts(3));
  JoinAll(job->job_id);
  EXPECT_EQ(watcher->Await(JobState::kRunning).job_id, job->job_id);
  ASSERT_TRUE(orchestrator_
                  ->HearFrom(job->job_id, placement_->MemberOf(kLearner),
                             LearnerStatus{.phase = LearnerPhase::kFinished,
                                           .train_steps = 1,
                                           .newest_checkpoint = "step-1"})
                  .ok());
  const Job ended = watcher->Await(JobState::kSucceeded);
  EXPECT_EQ(ended.learner->train_steps, 1);
  EXPECT_TRUE(ended.finished.has_value());
  EXPECT_TRUE(watcher->ended());
}

TEST_F(OrchestratorTest, AnAssignmentSaysWhereThingsAre) {
  const Job job = *orchestrator_->CreateJob(Request());
  ASSERT_TRUE(placement_->AwaitStarts(3));
  const auto assignment =
      orchestrator_->Register(job.job_id, placement_->MemberOf(kRollout));
  ASSERT_TRUE(assignment.ok());
  EXPECT_EQ(assignment->run_folder, folder_ / "runs" + "/" + job.job_id);
  EXPECT_EQ(assignment->buffer_endpoint, "ipc:///sockets/buffer-0.data");
  EXPECT_EQ(assignment->policy_endpoint, "ipc:///sockets/policy-0.data");
  EXPECT_TRUE(std::filesystem::is_directory(assignment->run_folder + "/logs"));
}

TEST_F(OrchestratorTest, ReplacesAProcessThatDied) {
  const Job job = *orchestrator_->CreateJob(Request());
  const auto watcher = Watch(job.job_id);
  ASSERT_TRUE(placement_->AwaitStarts(3));
  JoinAll(job.job_id);
  watcher->Await(JobState::kRunning);
  const Member before = placement_->MemberOf(kRollout);
  placement_->End(kRollout, {.signal = 9});
  ASSERT_TRUE(placement_->AwaitStarts(4));
  EXPECT_GT(placement_->MemberOf(kRollout).incarnation, before.incarnation);
  EXPECT_EQ(watcher->Await(JobState::kRecovering).restarts.at("rollout"), 1);
}

TEST_F(OrchestratorTest, TheSameRequestMakesOneJob) {
  JobRequest request = Request();
  request.request_id = "r-1";
  const Job first = *orchestrator_->CreateJob(request);
  EXPECT_EQ(orchestrator_->CreateJob(request)->job_id, first.job_id);
  request.spec.seed = 2;
  const absl::Status other = orchestrator_->CreateJob(request).status();
  EXPECT_EQ(other.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(
      Contains(other.message(),
               "request_id \"r-1\" was used for another job: " + first.job_id));
  EXPECT_EQ(orchestrator_->ListJobs(0, "")->jobs.size(), 1u);
}

TEST_F(OrchestratorTest, ValidatingCreatesNothing) {
  JobRequest request = Request();
  request.validate_only = true;
  EXPECT_TRUE(orchestrator_->CreateJob(request).ok());
  EXPECT_TRUE(orchestrator_->ListJobs(0, "")->jobs.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "runs"));
}

TEST_F(OrchestratorTest, AFolderWithCheckpointsIsOnlyForAResume) {
  JobRequest request = Request();
  request.run_folder = folder_ / "run";
  request.resume = true;
  EXPECT_TRUE(Contains(orchestrator_->CreateJob(request).status().message(),
                       "has no checkpoint to resume from"));
  std::filesystem::create_directories(request.run_folder +
                                      "/checkpoints/step-000000000001");
  EXPECT_TRUE(orchestrator_->CreateJob(request).ok());
  request.resume = false;
  const absl::Status status = orchestrator_->CreateJob(request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(status.message(), "already has checkpoints"));
}

TEST_F(OrchestratorTest, CancellingIsIdempotentUntilTheJobHasEnded) {
  const Job job = *orchestrator_->CreateJob(Request());
  const auto watcher = Watch(job.job_id);
  ASSERT_TRUE(placement_->AwaitStarts(3));
  EXPECT_TRUE(orchestrator_->CancelJob(job.job_id).ok());
  watcher->Await(JobState::kCancelled);
  const absl::Status again = orchestrator_->CancelJob(job.job_id).status();
  EXPECT_EQ(again.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(Contains(again.message(), "has already ended: CANCELLED"));
}

TEST_F(OrchestratorTest, UnknownJobsAreNotFound) {
  for (const absl::Status& status :
       {orchestrator_->GetJob("x").status(),
        orchestrator_->CancelJob("x").status(),
        orchestrator_->WatchJob("x", 0, {}),
        orchestrator_->Register("x", {}).status(),
        orchestrator_->HearFrom("x", {}, {}).status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(Contains(status.message(), "there is no job \"x\""));
  }
}

TEST_F(OrchestratorTest, ASecondJobWaitsForTheFirst) {
  const Job first = *orchestrator_->CreateJob(Request());
  const Job second = *orchestrator_->CreateJob(Request());
  ASSERT_TRUE(placement_->AwaitStarts(3));
  EXPECT_EQ(placement_->OrderOf(kBuffer).process.job_id, first.job_id);
  EXPECT_EQ(orchestrator_->GetJob(second.job_id)->state, JobState::kPending);
  ASSERT_TRUE(orchestrator_->CancelJob(first.job_id).ok());
  ASSERT_TRUE(placement_->AwaitStarts(6));
  EXPECT_EQ(placement_->OrderOf(kBuffer).process.job_id, second.job_id);
}

TEST_F(OrchestratorTest, AJobThatWaitsCanBeCancelled) {
  static_cast<void>(*orchestrator_->CreateJob(Request()));
  const Job second = *orchestrator_->CreateJob(Request());
  const auto watcher = Watch(second.job_id);
  ASSERT_TRUE(orchestrator_->CancelJob(second.job_id).ok());
  EXPECT_EQ(watcher->Await(JobState::kCancelled).job_id, second.job_id);
}

TEST_F(OrchestratorTest, ListsNewestFirstInPages) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(orchestrator_->CreateJob(Request())->job_id);
  }
  const JobPage first = *orchestrator_->ListJobs(2, "");
  ASSERT_EQ(first.jobs.size(), 2u);
  EXPECT_EQ(first.jobs[0].job_id, ids[4]);
  const JobPage second = *orchestrator_->ListJobs(2, first.next_page_token);
  EXPECT_EQ(second.jobs[0].job_id, ids[2]);
  const JobPage last = *orchestrator_->ListJobs(2, second.next_page_token);
  ASSERT_EQ(last.jobs.size(), 1u);
  EXPECT_EQ(last.jobs[0].job_id, ids[0]);
  EXPECT_EQ(last.next_page_token, "");
}

TEST_F(OrchestratorTest, WrongPagesAreRefused) {
  for (const int size : {-1, 1001}) {
    EXPECT_TRUE(Contains(orchestrator_->ListJobs(size, "").status().message(),
                         "page_size must be from 0 to 1000"));
  }
  for (const char* const token : {"x", "-1", "7"}) {
    EXPECT_EQ(orchestrator_->ListJobs(1, token).status().code(),
              absl::StatusCode::kInvalidArgument)
        << token;
  }
}

TEST_F(OrchestratorTest, AProgramThatIsMissingFailsTheJob) {
  placement_->FailStartsWith(
      absl::NotFoundError("cannot start flywheel-buffer: no such file"));
  const Job job = *orchestrator_->CreateJob(Request());
  const Job failed = Watch(job.job_id)->Await(JobState::kFailed);
  EXPECT_TRUE(Contains(failed.message,
                       "buffer-0 could not be started: cannot start "
                       "flywheel-buffer: no such file"));
}

TEST_F(OrchestratorTest, StartsThatFailForNowAreTriedAgain) {
  placement_->FailStartsWith(absl::UnavailableError("no more processes"));
  const Job job = *orchestrator_->CreateJob(Request());
  const auto watcher = Watch(job.job_id);
  watcher->Await(JobState::kPlacing);
  placement_->FailStartsWith(absl::OkStatus());
  EXPECT_TRUE(placement_->AwaitStarts(3));
}

TEST_F(OrchestratorTest, AnEvaluationsFileBecomesItsResult) {
  JobRequest request = Request();
  request.spec.evaluation.episodes = 2;
  const Job job = *orchestrator_->CreateJob(request);
  const auto watcher = Watch(job.job_id);
  ASSERT_TRUE(placement_->AwaitStarts(3));
  JoinAll(job.job_id);
  ASSERT_TRUE(orchestrator_
                  ->HearFrom(job.job_id, placement_->MemberOf(kLearner),
                             LearnerStatus{.phase = LearnerPhase::kFinished,
                                           .newest_checkpoint = "step-1"})
                  .ok());
  ASSERT_TRUE(placement_->AwaitStarts(4));
  std::ofstream(job.run_folder + "/evaluations/step-1-final.json")
      << R"({"policy_version": 1, "environment_steps": 2,
             "seconds_trained": 3, "episodes": 2, "episode_return_mean": 7,
             "episode_return_std": 0, "success_rate": null})";
  placement_->End({.role = Role::kEvaluation}, {});
  const Job ended = watcher->Await(JobState::kSucceeded);
  ASSERT_EQ(ended.evaluations.size(), 1u);
  EXPECT_EQ(ended.evaluations[0].episode_return_mean, 7);
  EXPECT_TRUE(ended.evaluations[0].final);
}

TEST_F(OrchestratorTest, AWatcherHearsOnlyNewerRevisions) {
  const Job job = *orchestrator_->CreateJob(Request());
  ASSERT_TRUE(placement_->AwaitStarts(3));
  const int64_t revision = orchestrator_->GetJob(job.job_id)->revision;
  auto watcher = std::make_shared<RecordingWatcher>();
  ASSERT_TRUE(orchestrator_->WatchJob(job.job_id, revision, watcher).ok());
  ASSERT_TRUE(orchestrator_->CancelJob(job.job_id).ok());
  watcher->Await(JobState::kCancelled);
  for (const Job& heard : watcher->jobs()) EXPECT_GT(heard.revision, revision);
}

TEST_F(OrchestratorTest, AWatcherOfAnEndedJobHearsItsEnd) {
  const Job job = *orchestrator_->CreateJob(Request());
  ASSERT_TRUE(orchestrator_->CancelJob(job.job_id).ok());
  Watch(job.job_id)->Await(JobState::kCancelled);
  auto late = std::make_shared<RecordingWatcher>();
  ASSERT_TRUE(orchestrator_->WatchJob(job.job_id, int64_t{1} << 40, late).ok());
  late->Await(JobState::kCancelled);
  EXPECT_TRUE(late->ended());
}

TEST_F(OrchestratorTest, AJobThatRanWhenTheOrchestratorEndedHasFailed) {
  JobRequest request = Request();
  request.request_id = "r-1";
  const Job job = *orchestrator_->CreateJob(request);
  ASSERT_TRUE(placement_->AwaitStarts(3));
  const int64_t revision = orchestrator_->GetJob(job.job_id)->revision;
  Start();
  ASSERT_TRUE(load_status_.ok()) << load_status_;
  const absl::StatusOr<Job> loaded = orchestrator_->GetJob(job.job_id);
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ(loaded->state, JobState::kFailed);
  EXPECT_EQ(loaded->message, "its orchestrator ended while it ran");
  EXPECT_GT(loaded->revision, revision);
  EXPECT_EQ(orchestrator_->CreateJob(request)->job_id, job.job_id)
      << "the request id is remembered";
}

TEST_F(OrchestratorTest, CancelAllWaitsForTheEndOfEveryJob) {
  const Job job = *orchestrator_->CreateJob(Request());
  ASSERT_TRUE(placement_->AwaitStarts(3));
  EXPECT_TRUE(orchestrator_->CancelAll(absl::Seconds(10)));
  EXPECT_EQ(orchestrator_->GetJob(job.job_id)->state, JobState::kCancelled);
}

}  // namespace
}  // namespace flywheel
