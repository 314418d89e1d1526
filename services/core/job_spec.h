#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace flywheel {

// A job as the services see it: job.proto, checked and with every default
// filled in. Meanings, units and ranges stand there.

struct PolicySpec {
  std::string kind = "mlp_gaussian";
  std::vector<int> hidden_sizes = {64, 64};
  int action_chunk = 1;
  double initial_log_std = -0.5;
  int width = 64;
  int layers = 2;
  int heads = 4;
  int patch = 8;
  std::string activation = "tanh";
  bool normalize_observations = true;
};

enum class Correction { kNone, kVtrace };
enum class LearningRateSchedule { kConstant, kLinear };

struct AlgorithmSpec {
  Correction correction = Correction::kVtrace;
  int batch_credits = 16;
  int unroll_length = 32;
  int epochs = 4;
  int minibatches = 4;
  double learning_rate = 3e-4;
  LearningRateSchedule learning_rate_schedule = LearningRateSchedule::kLinear;
  double adam_beta1 = 0.9;
  double adam_beta2 = 0.999;
  double adam_epsilon = 1e-8;
  double weight_decay = 0;
  double gradient_norm_max = 0.5;
  double discount = 0.99;
  double gae_lambda = 0.95;
  double clip_range = 0.2;
  double value_clip_range = 0;
  double value_cost = 0.5;
  double entropy_cost = 0;
  bool normalize_advantages = true;
  bool scale_rewards = true;
  double vtrace_rho_max = 1;
  double vtrace_c_max = 1;
  double kl_max = 0;
};

struct PretrainingSpec {
  bool scripted = false;  // demonstrations: scripted
  int episodes = 500;
  double epochs = 30;
  double seconds = 120;
  int batch_size = 128;
  double learning_rate = 1e-3;
  double action_noise = 0;
};

struct PacingSpec {
  int64_t max_policy_lag = 4;
  std::optional<double> credit_deadline;
  std::optional<double> answer_deadline;
};

struct ResourcesSpec {
  int rollouts = 1;
  int environments_per_rollout = 16;
  int buffers = 1;
  int learners = 1;
  std::string device = "auto";
  int threads_per_rollout = 1;
  std::optional<int> inference_batch;
  int learner_threads = 1;
  int64_t buffer_bytes_max = int64_t{4} << 30;

  int environments() const { return rollouts * environments_per_rollout; }
};

struct BudgetSpec {
  std::optional<int64_t> environment_steps;
  std::optional<int64_t> train_steps;
  std::optional<double> seconds;
  std::optional<double> target_return;
};

struct EvaluationSpec {
  int episodes = 10;
  std::optional<int64_t> every_environment_steps;
  int episodes_during_training = 20;
};

struct CheckpointsSpec {
  double every_seconds = 30;
  int keep = 3;
};

struct JobSpec {
  std::string name = "job";
  std::string task;
  PolicySpec policy;
  AlgorithmSpec algorithm;
  PretrainingSpec pretraining;
  PacingSpec pacing;
  ResourcesSpec resources;
  BudgetSpec budget;
  EvaluationSpec evaluation;
  CheckpointsSpec checkpoints;
  uint64_t seed = 1;
};

}  // namespace flywheel
