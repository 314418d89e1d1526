#include "sim/task_registry.h"

#include <set>

#include "gtest/gtest.h"

namespace flywheel {
namespace {

TEST(TaskRegistryTest, KnowsBothTasks) {
  const std::vector<std::string> list = TaskNames();
  const std::set<std::string> names(list.begin(), list.end());
  EXPECT_EQ(names.count("gymnasium:HalfCheetah-v5"), 1u);
  EXPECT_EQ(names.count("tabletop/reach"), 1u);
}

class EveryTaskTest : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryTaskTest, HasASpecAndAnEnvironmentThatAgree) {
  const auto spec = SpecOf(GetParam());
  const auto environment = MakeEnvironment(GetParam());
  ASSERT_TRUE(spec.ok()) << spec.status();
  ASSERT_TRUE(environment.ok()) << environment.status();
  EXPECT_EQ(spec->name, GetParam());
  EXPECT_EQ((*environment)->spec().name, GetParam());
  EXPECT_EQ((*environment)->spec().action_size, spec->action_size);
  EXPECT_GT(spec->max_episode_steps, 0);
  EXPECT_FALSE(spec->observations.empty());
}

INSTANTIATE_TEST_SUITE_P(Tasks, EveryTaskTest,
                         ::testing::ValuesIn(TaskNames()));

TEST(TaskRegistryTest, NamesTheLikelyTask) {
  EXPECT_EQ(MakeEnvironment("tabletop/reech").status(),
            absl::InvalidArgumentError(
                "unknown task \"tabletop/reech\": did you mean "
                "\"tabletop/reach\"?"));
  EXPECT_EQ(SpecOf("gymnasium:HalfCheeta-v4").status(),
            absl::InvalidArgumentError(
                "unknown task \"gymnasium:HalfCheeta-v4\": did you mean "
                "\"gymnasium:HalfCheetah-v5\"?"));
}

TEST(TaskRegistryTest, ListsTheTasksWhereNoneIsNear) {
  EXPECT_EQ(
      SpecOf("go").status(),
      absl::InvalidArgumentError("unknown task \"go\": this build knows "
                                 "gymnasium:HalfCheetah-v5, tabletop/reach"));
  EXPECT_EQ(SpecOf("").status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace flywheel
