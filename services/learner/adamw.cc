#include "services/learner/adamw.h"

#include <utility>
#include <vector>

namespace flywheel {

AdamW::AdamW(torch::Tensor parameters, torch::Tensor gradients,
             const Options& options)
    : options_(options),
      parameters_(std::move(parameters)),
      gradients_(std::move(gradients)),
      first_moment_(torch::zeros_like(parameters_)),
      second_moment_(torch::zeros_like(parameters_)),
      steps_(torch::zeros({}, parameters_.options())) {}

torch::Tensor AdamW::ClipGradients(double norm_max) {
  const torch::NoGradGuard no_grad;
  const torch::Tensor norm = gradients_.norm();
  gradients_.mul_((norm_max / (norm + 1e-6)).clamp_max(1.0));
  return norm;
}

void AdamW::Step(double learning_rate) {
  const torch::NoGradGuard no_grad;
  steps_.add_(1);
  const std::vector<torch::Tensor> parameters = {parameters_};
  const std::vector<torch::Tensor> first_moments = {first_moment_};
  const std::vector<torch::Tensor> second_moments = {second_moment_};
  at::_fused_adamw_(parameters, {gradients_}, first_moments, second_moments,
                    /*max_exp_avg_sqs=*/{}, {steps_}, learning_rate,
                    options_.beta1, options_.beta2, options_.weight_decay,
                    options_.epsilon, /*amsgrad=*/false, /*maximize=*/false);
}

void AdamW::Reset() {
  first_moment_.zero_();
  second_moment_.zero_();
  steps_.zero_();
}

void AdamW::Restore(const torch::Tensor& first_moment,
                    const torch::Tensor& second_moment,
                    const torch::Tensor& steps) {
  first_moment_.copy_(first_moment);
  second_moment_.copy_(second_moment);
  steps_.copy_(steps.reshape({}));
}

}  // namespace flywheel
