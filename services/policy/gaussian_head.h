#pragma once

#include <torch/torch.h>

#include <cstdint>

namespace flywheel {

// The diagonal Gaussian every policy ends in. log_std may be anything that
// broadcasts to the mean's shape. All float32.

// Of each step's action, summed over its elements: [n, action_chunk] for mean
// and action [n, action_chunk, action_size].
torch::Tensor StepLogProbability(const torch::Tensor& mean,
                                 const torch::Tensor& log_std,
                                 const torch::Tensor& action);

// Of each chunk [n]: the sum over its first steps_executed (int64 [n]) steps.
torch::Tensor ChunkLogProbability(const torch::Tensor& mean,
                                  const torch::Tensor& log_std,
                                  const torch::Tensor& action,
                                  const torch::Tensor& steps_executed);

// 1 for steps that were executed, else 0: float32 [n, action_chunk].
torch::Tensor ExecutedMask(const torch::Tensor& steps_executed,
                           int64_t action_chunk);

// Mean entropy of an action of one step, in nats: a scalar.
torch::Tensor MeanStepEntropy(const torch::Tensor& log_std,
                              int64_t action_size);

// mean + exp(log_std) * noise.
torch::Tensor SampleAction(const torch::Tensor& mean,
                           const torch::Tensor& log_std,
                           const torch::Tensor& noise);

}  // namespace flywheel
