#include "cli/task_check.h"

#include "gtest/gtest.h"

namespace flywheel {
namespace {

JobSpec JobOf(const std::string& task, const std::string& policy) {
  JobSpec job;
  job.task = task;
  job.policy.kind = policy;
  return job;
}

TEST(TaskCheckTest, BothTasksPassWithTheirPolicies) {
  EXPECT_TRUE(
      CheckTask(JobOf("gymnasium:HalfCheetah-v5", "mlp_gaussian")).ok());
  JobSpec reach = JobOf("tabletop/reach", "tiny_vla");
  reach.pretraining.scripted = true;
  EXPECT_TRUE(CheckTask(reach).ok());
}

TEST(TaskCheckTest, AnUnknownTaskNamesTheLikelyOne) {
  EXPECT_EQ(CheckTask(JobOf("tabletop/rech", "tiny_vla")).message(),
            "task: unknown task \"tabletop/rech\": did you mean "
            "\"tabletop/reach\"?");
}

TEST(TaskCheckTest, APolicyThatLooksNeedsACamera) {
  EXPECT_EQ(CheckTask(JobOf("gymnasium:HalfCheetah-v5", "tiny_vla")).message(),
            "policy.kind must be one that needs no camera, since task "
            "gymnasium:HalfCheetah-v5 has none, got tiny_vla");
}

TEST(TaskCheckTest, DemonstrationsNeedAnExpert) {
  JobSpec job = JobOf("gymnasium:HalfCheetah-v5", "mlp_gaussian");
  job.pretraining.scripted = true;
  EXPECT_EQ(CheckTask(job).message(),
            "pretraining.demonstrations must be none, since task "
            "gymnasium:HalfCheetah-v5 has no scripted expert, got scripted");
}

}  // namespace
}  // namespace flywheel
