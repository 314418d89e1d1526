#include "services/wire/job_spec_codec.h"

#include "flywheel/v1/job.pb.h"
#include "services/core/status_macros.h"
#include "services/wire/job_rules_codec.h"
#include "services/wire/message_bytes_codec.h"

namespace flywheel {
namespace {

PolicySpec PolicyFrom(const v1::PolicySpec& from) {
  return {
      .kind = from.kind(),
      .hidden_sizes = {from.hidden_sizes().begin(), from.hidden_sizes().end()},
      .action_chunk = from.action_chunk(),
      .initial_log_std = from.initial_log_std(),
      .width = from.width(),
      .layers = from.layers(),
      .heads = from.heads(),
      .patch = from.patch(),
      .activation = from.activation(),
      .normalize_observations = from.normalize_observations()};
}

AlgorithmSpec AlgorithmFrom(const v1::AlgorithmSpec& from) {
  return {.correction = from.correction() == "none" ? Correction::kNone
                                                    : Correction::kVtrace,
          .batch_credits = from.batch_credits(),
          .unroll_length = from.unroll_length(),
          .epochs = from.epochs(),
          .minibatches = from.minibatches(),
          .learning_rate = from.learning_rate(),
          .learning_rate_schedule = from.learning_rate_schedule() == "constant"
                                        ? LearningRateSchedule::kConstant
                                        : LearningRateSchedule::kLinear,
          .adam_beta1 = from.adam_beta1(),
          .adam_beta2 = from.adam_beta2(),
          .adam_epsilon = from.adam_epsilon(),
          .weight_decay = from.weight_decay(),
          .gradient_norm_max = from.gradient_norm_max(),
          .discount = from.discount(),
          .gae_lambda = from.gae_lambda(),
          .clip_range = from.clip_range(),
          .value_clip_range = from.value_clip_range(),
          .value_cost = from.value_cost(),
          .entropy_cost = from.entropy_cost(),
          .normalize_advantages = from.normalize_advantages(),
          .scale_rewards = from.scale_rewards(),
          .vtrace_rho_max = from.vtrace_rho_max(),
          .vtrace_c_max = from.vtrace_c_max(),
          .kl_max = from.kl_max()};
}

PretrainingSpec PretrainingFrom(const v1::PretrainingSpec& from) {
  return {.scripted = from.demonstrations() == "scripted",
          .episodes = from.episodes(),
          .epochs = from.epochs(),
          .seconds = from.seconds(),
          .batch_size = from.batch_size(),
          .learning_rate = from.learning_rate(),
          .action_noise = from.action_noise()};
}

PacingSpec PacingFrom(const v1::PacingSpec& from) {
  PacingSpec to{.max_policy_lag = from.max_policy_lag()};
  if (from.has_credit_deadline()) to.credit_deadline = from.credit_deadline();
  if (from.has_answer_deadline()) to.answer_deadline = from.answer_deadline();
  return to;
}

ResourcesSpec ResourcesFrom(const v1::ResourcesSpec& from) {
  ResourcesSpec to{.rollouts = from.rollouts(),
                   .environments_per_rollout = from.environments_per_rollout(),
                   .buffers = from.buffers(),
                   .learners = from.learners(),
                   .device = from.device(),
                   .threads_per_rollout = from.threads_per_rollout(),
                   .learner_threads = from.learner_threads(),
                   .buffer_bytes_max = from.buffer_bytes_max()};
  if (from.has_inference_batch()) to.inference_batch = from.inference_batch();
  return to;
}

BudgetSpec BudgetFrom(const v1::BudgetSpec& from) {
  BudgetSpec to;
  if (from.has_environment_steps()) {
    to.environment_steps = from.environment_steps();
  }
  if (from.has_train_steps()) to.train_steps = from.train_steps();
  if (from.has_seconds()) to.seconds = from.seconds();
  if (from.has_target_return()) to.target_return = from.target_return();
  return to;
}

EvaluationSpec EvaluationFrom(const v1::EvaluationSpec& from) {
  EvaluationSpec to{
      .episodes = from.episodes(),
      .episodes_during_training = from.episodes_during_training()};
  if (from.has_every_environment_steps()) {
    to.every_environment_steps = from.every_environment_steps();
  }
  return to;
}

void Fill(const PolicySpec& from, v1::PolicySpec& to) {
  to.set_kind(from.kind);
  to.mutable_hidden_sizes()->Assign(from.hidden_sizes.begin(),
                                    from.hidden_sizes.end());
  to.set_action_chunk(from.action_chunk);
  to.set_initial_log_std(from.initial_log_std);
  to.set_width(from.width);
  to.set_layers(from.layers);
  to.set_heads(from.heads);
  to.set_patch(from.patch);
  to.set_activation(from.activation);
  to.set_normalize_observations(from.normalize_observations);
}

void Fill(const AlgorithmSpec& from, v1::AlgorithmSpec& to) {
  to.set_kind("ppo");
  to.set_correction(from.correction == Correction::kNone ? "none" : "vtrace");
  to.set_batch_credits(from.batch_credits);
  to.set_unroll_length(from.unroll_length);
  to.set_epochs(from.epochs);
  to.set_minibatches(from.minibatches);
  to.set_learning_rate(from.learning_rate);
  to.set_learning_rate_schedule(from.learning_rate_schedule ==
                                        LearningRateSchedule::kConstant
                                    ? "constant"
                                    : "linear");
  to.set_adam_beta1(from.adam_beta1);
  to.set_adam_beta2(from.adam_beta2);
  to.set_adam_epsilon(from.adam_epsilon);
  to.set_weight_decay(from.weight_decay);
  to.set_gradient_norm_max(from.gradient_norm_max);
  to.set_discount(from.discount);
  to.set_gae_lambda(from.gae_lambda);
  to.set_clip_range(from.clip_range);
  to.set_value_clip_range(from.value_clip_range);
  to.set_value_cost(from.value_cost);
  to.set_entropy_cost(from.entropy_cost);
  to.set_normalize_advantages(from.normalize_advantages);
  to.set_scale_rewards(from.scale_rewards);
  to.set_vtrace_rho_max(from.vtrace_rho_max);
  to.set_vtrace_c_max(from.vtrace_c_max);
  to.set_kl_max(from.kl_max);
}

void Fill(const PretrainingSpec& from, v1::PretrainingSpec& to) {
  to.set_demonstrations(from.scripted ? "scripted" : "none");
  to.set_episodes(from.episodes);
  to.set_epochs(from.epochs);
  to.set_seconds(from.seconds);
  to.set_batch_size(from.batch_size);
  to.set_learning_rate(from.learning_rate);
  to.set_action_noise(from.action_noise);
}

void Fill(const PacingSpec& from, v1::PacingSpec& to) {
  to.set_max_policy_lag(from.max_policy_lag);
  if (from.credit_deadline) to.set_credit_deadline(*from.credit_deadline);
  if (from.answer_deadline) to.set_answer_deadline(*from.answer_deadline);
}

void Fill(const ResourcesSpec& from, v1::ResourcesSpec& to) {
  to.set_rollouts(from.rollouts);
  to.set_environments_per_rollout(from.environments_per_rollout);
  to.set_buffers(from.buffers);
  to.set_learners(from.learners);
  to.set_device(from.device);
  to.set_threads_per_rollout(from.threads_per_rollout);
  if (from.inference_batch) to.set_inference_batch(*from.inference_batch);
  to.set_learner_threads(from.learner_threads);
  to.set_buffer_bytes_max(from.buffer_bytes_max);
}

void Fill(const BudgetSpec& from, v1::BudgetSpec& to) {
  if (from.environment_steps) to.set_environment_steps(*from.environment_steps);
  if (from.train_steps) to.set_train_steps(*from.train_steps);
  if (from.seconds) to.set_seconds(*from.seconds);
  if (from.target_return) to.set_target_return(*from.target_return);
}

void Fill(const EvaluationSpec& from, v1::EvaluationSpec& to) {
  to.set_episodes(from.episodes);
  if (from.every_environment_steps) {
    to.set_every_environment_steps(*from.every_environment_steps);
  }
  to.set_episodes_during_training(from.episodes_during_training);
}

}  // namespace

absl::StatusOr<JobSpec> JobSpecFromProto(const v1::JobSpec& message) {
  const absl::StatusOr<ResolvedJob> resolved = ResolveJob(message);
  if (!resolved.ok()) return resolved.status();
  const v1::JobSpec& from = resolved->spec;
  return JobSpec{
      .name = from.name(),
      .task = from.task(),
      .policy = PolicyFrom(from.policy()),
      .algorithm = AlgorithmFrom(from.algorithm()),
      .pretraining = PretrainingFrom(from.pretraining()),
      .pacing = PacingFrom(from.pacing()),
      .resources = ResourcesFrom(from.resources()),
      .budget = BudgetFrom(from.budget()),
      .evaluation = EvaluationFrom(from.evaluation()),
      .checkpoints = {.every_seconds = from.checkpoints().every_seconds(),
                      .keep = from.checkpoints().keep()},
      .seed = from.seed()};
}

v1::JobSpec JobSpecToProto(const JobSpec& job) {
  v1::JobSpec to;
  to.set_name(job.name);
  to.set_task(job.task);
  Fill(job.policy, *to.mutable_policy());
  Fill(job.algorithm, *to.mutable_algorithm());
  Fill(job.pretraining, *to.mutable_pretraining());
  Fill(job.pacing, *to.mutable_pacing());
  Fill(job.resources, *to.mutable_resources());
  Fill(job.budget, *to.mutable_budget());
  Fill(job.evaluation, *to.mutable_evaluation());
  to.mutable_checkpoints()->set_every_seconds(job.checkpoints.every_seconds);
  to.mutable_checkpoints()->set_keep(job.checkpoints.keep);
  to.set_seed(job.seed);
  return to;
}

absl::StatusOr<JobSpec> JobSpecFromBytes(std::string_view bytes) {
  v1::JobSpec message;
  FLYWHEEL_RETURN_IF_ERROR(ParseMessage("JobSpec", bytes, message));
  return JobSpecFromProto(message);
}

std::string JobSpecBytes(const JobSpec& job) {
  return JobSpecToProto(job).SerializeAsString();
}

}  // namespace flywheel
