#include "services/learner/adamw.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <vector>

namespace flywheel {
namespace {

// The algorithm as published, one number at a time, in double.
class ScalarAdamW {
 public:
  ScalarAdamW(double x, const AdamW::Options& options)
      : x_(x), options_(options) {}

  void Step(double gradient, double rate) {
    ++steps_;
    x_ -= rate * options_.weight_decay * x_;
    m_ = options_.beta1 * m_ + (1 - options_.beta1) * gradient;
    v_ = options_.beta2 * v_ + (1 - options_.beta2) * gradient * gradient;
    const double m = m_ / (1 - std::pow(options_.beta1, steps_));
    const double v = v_ / (1 - std::pow(options_.beta2, steps_));
    x_ -= rate * m / (std::sqrt(v) + options_.epsilon);
  }

  double x() const { return x_; }

 private:
  double x_;
  const AdamW::Options options_;
  double m_ = 0;
  double v_ = 0;
  int steps_ = 0;
};

TEST(AdamWTest, AgreesWithTheScalarAlgorithmOverAHundredSteps) {
  for (const double weight_decay : {0.0, 0.1}) {
    const AdamW::Options options = {.beta1 = 0.9,
                                    .beta2 = 0.95,
                                    .epsilon = 1e-6,
                                    .weight_decay = weight_decay};
    torch::manual_seed(3);
    const torch::Tensor x = torch::randn({50});
    const torch::Tensor gradient = torch::zeros({50});
    std::vector<ScalarAdamW> reference;
    for (int i = 0; i < 50; ++i) {
      reference.emplace_back(x[i].item<double>(), options);
    }
    AdamW optimizer(x, gradient, options);
    for (int step = 0; step < 100; ++step) {
      const double rate = 0.01 / (1 + step);
      gradient.copy_(torch::randn({50}) + x);
      for (int i = 0; i < 50; ++i) {
        reference[i].Step(gradient[i].item<double>(), rate);
      }
      optimizer.Step(rate);
    }
    for (int i = 0; i < 50; ++i) {
      EXPECT_NEAR(x[i].item<double>(), reference[i].x(), 3e-6);
    }
  }
}

TEST(AdamWTest, ClipsTheWholeGradientToTheNormAllowed) {
  const torch::Tensor gradient = torch::tensor({3.0f, 0.0f, 4.0f});
  AdamW optimizer(torch::zeros({3}), gradient, {});
  EXPECT_FLOAT_EQ(optimizer.ClipGradients(0.5).item<float>(), 5);
  EXPECT_NEAR(gradient.norm().item<double>(), 0.5, 1e-6);
  EXPECT_NEAR(gradient[0].item<double>(), 0.3, 1e-6);
}

TEST(AdamWTest, LeavesSmallGradientsAsTheyAre) {
  const torch::Tensor gradient = torch::tensor({0.3f, 0.4f});
  AdamW optimizer(torch::zeros({2}), gradient, {});
  EXPECT_FLOAT_EQ(optimizer.ClipGradients(0.6).item<float>(), 0.5);
  EXPECT_TRUE(torch::equal(gradient, torch::tensor({0.3f, 0.4f})));
}

TEST(AdamWTest, GoesOnFromSavedMomentsBitForBit) {
  const torch::Tensor x = torch::ones({5});
  const torch::Tensor gradient = torch::arange(5).to(torch::kFloat32);
  AdamW optimizer(x, gradient, {});
  optimizer.Step(0.1);
  const torch::Tensor y = x.clone();
  AdamW resumed(y, gradient, {});
  resumed.Restore(optimizer.first_moment(), optimizer.second_moment(),
                  optimizer.steps());
  optimizer.Step(0.1);
  resumed.Step(0.1);
  EXPECT_TRUE(torch::equal(x, y));
}

TEST(AdamWTest, AfterAResetBeginsAnew) {
  const torch::Tensor gradient = torch::ones({1});
  const torch::Tensor x = torch::zeros({1});
  AdamW optimizer(x, gradient, {});
  optimizer.Step(0.1);
  const float first = x.item<float>();
  optimizer.Step(0.1);
  optimizer.Reset();
  x.zero_();
  optimizer.Step(0.1);
  EXPECT_EQ(x.item<float>(), first);
}

}  // namespace
}  // namespace flywheel
