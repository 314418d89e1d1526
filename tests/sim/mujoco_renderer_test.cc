#include "sim/mujoco_renderer.h"

#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "sim/mujoco_model.h"

namespace flywheel {
namespace {

// Seen from above: red up and left, blue down and right.
constexpr char kTwoBoxes[] = R"(
<mujoco>
  <visual>
    <global offwidth="16" offheight="16"/>
    <quality offsamples="0" shadowsize="0"/>
    <headlight ambient="1 1 1" diffuse="0 0 0" specular="0 0 0"/>
  </visual>
  <worldbody>
    <camera pos="0 0 2" fovy="53"/>
    <geom type="box" size="0.4 0.4 0.1" pos="-0.5 0.5 0" rgba="1 0 0 1"/>
    <geom type="box" size="0.4 0.4 0.1" pos="0.5 -0.5 0" rgba="0 0 1 1"/>
  </worldbody>
</mujoco>)";

class MujocoRendererTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto model = LoadMujocoText("two boxes", kTwoBoxes);
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = *model;
  }

  // An image of the initial state: 12 columns, 8 rows.
  std::vector<std::byte> Render() const {
    const MujocoData data = MakeMujocoData(model_);
    mj_forward(model_.get(), data.get());
    std::vector<std::byte> pixels(std::size_t{12} * 8 * 3);
    MujocoRenderer::ForThisThread(model_).Render(
        *data, {.camera = 0, .width = 12, .height = 8}, pixels);
    return pixels;
  }

  static std::vector<int> Pixel(const std::vector<std::byte>& pixels,
                                std::size_t row, std::size_t column) {
    const auto* rgb = &pixels[(row * 12 + column) * 3];
    return {static_cast<int>(rgb[0]), static_cast<int>(rgb[1]),
            static_cast<int>(rgb[2])};
  }

  MujocoModel model_;
};

TEST_F(MujocoRendererTest, RowsRunFromTheTop) {
  const std::vector<std::byte> pixels = Render();
  const std::vector<int> red = {255, 0, 0};
  const std::vector<int> blue = {0, 0, 255};
  const std::vector<int> black = {0, 0, 0};
  EXPECT_EQ(Pixel(pixels, 2, 4), red);
  EXPECT_EQ(Pixel(pixels, 5, 7), blue);
  EXPECT_EQ(Pixel(pixels, 2, 7), black);
  EXPECT_EQ(Pixel(pixels, 5, 4), black);
}

TEST_F(MujocoRendererTest, EveryThreadSeesTheSame) {
  const std::vector<std::byte> expected = Render();
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  std::thread one([&] {
    for (int i = 0; i < 20; ++i) first = Render();
  });
  std::thread two([&] {
    for (int i = 0; i < 20; ++i) second = Render();
  });
  one.join();
  two.join();
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
}

TEST_F(MujocoRendererTest, AThreadKeepsItsRenderer) {
  const MujocoRenderer* here = &MujocoRenderer::ForThisThread(model_);
  EXPECT_EQ(here, &MujocoRenderer::ForThisThread(model_));
  const MujocoRenderer* there = nullptr;
  std::thread([&] { there = &MujocoRenderer::ForThisThread(model_); }).join();
  EXPECT_NE(here, there);
}

}  // namespace
}  // namespace flywheel
