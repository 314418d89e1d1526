#include "sim/mujoco_guard.h"

#include <cmath>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "sim/mujoco_model.h"

namespace flywheel {
namespace {

constexpr char kFallingBall[] = R"(
<mujoco>
  <worldbody>
    <body><joint type="slide" axis="0 0 1"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>)";

TEST(MujocoGuardTest, AnErrorBecomesAStatusWithItsWords) {
  EXPECT_EQ(GuardMujoco([] { mju_error("stack overflow at %d", 7); }),
            absl::InternalError("MuJoCo: stack overflow at 7"));
  EXPECT_TRUE(GuardMujoco([] {}).ok());
}

TEST(MujocoGuardTest, AnErrorInsideANestedCallLeavesOnlyThat) {
  absl::Status inner;
  const absl::Status outer = GuardMujoco([&] {
    inner = GuardMujoco([] { mju_error("inner"); });
    mju_error("outer");
  });
  EXPECT_EQ(inner.message(), "MuJoCo: inner");
  EXPECT_EQ(outer.message(), "MuJoCo: outer");
}

TEST(MujocoGuardTest, AnErrorOutsideAbortsWithItsWords) {
  TakeMujocoMessages();
  EXPECT_DEATH(mju_error("out of memory"), "MuJoCo: out of memory");
}

TEST(MujocoGuardTest, AWarningIsSilent) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  EXPECT_TRUE(GuardMujoco([] { mju_warning("deprecated"); }).ok());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

class StepMujocoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = LoadMujocoText("falling ball", kFallingBall);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *model;
    data_ = MakeMujocoData(model_);
  }

  MujocoModel model_;
  MujocoData data_;
};

TEST_F(StepMujocoTest, AdvancesByThatManySteps) {
  ASSERT_TRUE(StepMujoco(*model_, *data_, 3).ok());
  EXPECT_NEAR(data_->time, 3 * model_->opt.timestep, 1e-12);
}

TEST_F(StepMujocoTest, ReportsADivergedSimulationUntilItIsReset) {
  data_->qvel[0] = std::nan("");
  const absl::Status status = StepMujoco(*model_, *data_, 1);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "diverged: ")) << status;
  EXPECT_FALSE(StepMujoco(*model_, *data_, 1).ok());
  mj_resetData(model_.get(), data_.get());
  EXPECT_TRUE(StepMujoco(*model_, *data_, 1).ok());
}

TEST(MujocoModelTest, AFileThatIsMissingIsNamed) {
  const auto model = LoadMujocoFile("no/such/model.xml");
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(model.status().message(), "no/such/model.xml"))
      << model.status();
}

TEST(MujocoModelTest, TextThatIsNoModelIsRefusedWithTheReason) {
  const auto model = LoadMujocoText("broken", "<mujoco><world/></mujoco>");
  EXPECT_EQ(model.status().code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(model.status().message(), "broken"))
      << model.status();
  EXPECT_TRUE(absl::StrContains(model.status().message(), "world"))
      << model.status();
}

TEST(MujocoModelTest, IsSharedWhileSomebodyHoldsIt) {
  const auto first = LoadMujocoText("shared", kFallingBall);
  const auto second = LoadMujocoText("shared", kFallingBall);
  EXPECT_EQ(first->get(), second->get());
}

}  // namespace
}  // namespace flywheel
