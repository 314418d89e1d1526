#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace flywheel {

// Adam with decoupled weight decay (Loshchilov, Hutter 2019) over one flat
// tensor: a single fused kernel per step, on the CPU as on a GPU.
//
// Not thread-safe.
class AdamW {
 public:
  struct Options {
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
  };

  // Both float32 [n], on the same device; their memory is shared.
  AdamW(torch::Tensor parameters, torch::Tensor gradients,
        const Options& options);

  // Scales the gradients so that their 2-norm is at most `norm_max`. Returns
  // the norm before, still on the device: nothing waits for it.
  torch::Tensor ClipGradients(double norm_max);

  void Step(double learning_rate);

  // Forgets moments and steps.
  void Reset();

  // Goes on from saved moments and steps, on any device.
  void Restore(const torch::Tensor& first_moment,
               const torch::Tensor& second_moment, const torch::Tensor& steps);

  // What it goes on from: float32 [n], [n], and a scalar count of steps.
  const torch::Tensor& first_moment() const { return first_moment_; }
  const torch::Tensor& second_moment() const { return second_moment_; }
  const torch::Tensor& steps() const { return steps_; }

 private:
  const Options options_;
  torch::Tensor parameters_;
  torch::Tensor gradients_;
  torch::Tensor first_moment_;
  torch::Tensor second_moment_;
  torch::Tensor steps_;
};

}  // namespace flywheel
