#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "services/wire/field_rule_codec.h"
#include "services/wire/job_rules_codec.h"
#include "services/wire/job_spec_codec.h"
#include "tests/testing/text_assertions.h"

namespace flywheel {
namespace {

// The least a job must say.
v1::JobSpec LeastJob() {
  v1::JobSpec job;
  job.set_task("tabletop/reach");
  job.mutable_budget()->set_train_steps(10);
  return job;
}

// The sentence for a job that `change` made wrong; empty if it is right.
std::string ErrorAfter(const std::function<void(v1::JobSpec&)>& change) {
  v1::JobSpec job = LeastJob();
  change(job);
  const absl::StatusOr<ResolvedJob> resolved = ResolveJob(job);
  if (resolved.ok()) return "";
  EXPECT_EQ(resolved.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(resolved.status().message());
}

TEST(JobRulesTest, FillsEveryDefaultAsItsProtoSays) {
  const absl::StatusOr<ResolvedJob> job = ResolveJob(LeastJob());
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->spec.name(), "job");
  EXPECT_EQ(job->spec.policy().kind(), "mlp_gaussian");
  ASSERT_EQ(job->spec.policy().hidden_sizes_size(), 2);
  EXPECT_EQ(job->spec.policy().hidden_sizes(1), 64);
  EXPECT_EQ(job->spec.policy().initial_log_std(), -0.5);
  EXPECT_EQ(job->spec.algorithm().learning_rate(), 3e-4);
  EXPECT_EQ(job->spec.algorithm().adam_epsilon(), 1e-8);
  EXPECT_TRUE(job->spec.algorithm().scale_rewards());
  EXPECT_EQ(job->spec.pacing().max_policy_lag(), 4);
  EXPECT_EQ(job->spec.resources().buffer_bytes_max(), int64_t{4} << 30);
  EXPECT_EQ(job->spec.seed(), 1u);
  EXPECT_TRUE(job->warnings.empty());
}

TEST(JobRulesTest, LeavesWhatMayBeUnsetUnset) {
  const v1::JobSpec job = ResolveJob(LeastJob())->spec;
  EXPECT_FALSE(job.pacing().has_credit_deadline());
  EXPECT_FALSE(job.resources().has_inference_batch());
  EXPECT_FALSE(job.budget().has_seconds());
  EXPECT_FALSE(job.evaluation().has_every_environment_steps());
}

TEST(JobRulesTest, EveryDefaultKeepsToItsOwnRule) {
  const v1::JobSpec job = ResolveJob(LeastJob())->spec;
  const absl::StatusOr<ResolvedJob> again = ResolveJob(job);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.SerializeAsString(), job.SerializeAsString());
}

TEST(JobRulesTest, TheStructHasTheDefaultsOfTheProto) {
  JobSpec least;
  least.task = "tabletop/reach";
  least.budget.train_steps = 10;
  EXPECT_EQ(JobSpecToProto(least).DebugString(),
            ResolveJob(LeastJob())->spec.DebugString());
}

TEST(JobRulesTest, GivenValuesStay) {
  v1::JobSpec job = LeastJob();
  job.mutable_policy()->add_hidden_sizes(7);
  job.mutable_algorithm()->set_scale_rewards(false);
  job.mutable_algorithm()->set_entropy_cost(0);
  job.set_seed(std::numeric_limits<uint64_t>::max());
  const v1::JobSpec resolved = ResolveJob(job)->spec;
  ASSERT_EQ(resolved.policy().hidden_sizes_size(), 1);
  EXPECT_FALSE(resolved.algorithm().scale_rewards());
  EXPECT_EQ(resolved.seed(), std::numeric_limits<uint64_t>::max());
}

TEST(JobRulesTest, EachViolationIsOneSentenceWithFieldRuleAndValue) {
  struct Row {
    std::function<void(v1::JobSpec&)> change;
    std::string sentence;
  };
  const double kNan = std::nan("");
  const Row rows[] = {
      {[](auto& j) { j.clear_task(); }, "task must be given"},
      {[](auto& j) { j.set_task(""); },
       "task must be 1 to 1024 printable characters without blanks, got \"\""},
      {[](auto& j) { j.set_task("a b\n"); },
       "task must be 1 to 1024 printable characters without blanks, got "
       "\"a b\\n\""},
      {[](auto& j) { j.set_name("a_b"); },
       "name must be 1 to 63 letters, digits and dashes, got \"a_b\""},
      {[](auto& j) { j.set_name(std::string(64, 'a')); },
       "name must be 1 to 63 letters, digits and dashes, got \"" +
           std::string(63, 'a') + "\""},
      {[](auto& j) { j.clear_budget(); },
       "budget must give at least one of environment_steps, train_steps, "
       "seconds, target_return, got none"},
      {[](auto& j) { j.mutable_algorithm()->set_batch_credits(0); },
       "algorithm.batch_credits must be a whole number from 1 to 65536, got 0"},
      {[](auto& j) { j.mutable_algorithm()->set_batch_credits(65537); },
       "algorithm.batch_credits must be a whole number from 1 to 65536, got "
       "65537"},
      {[](auto& j) { j.mutable_algorithm()->set_learning_rate(1.5); },
       "algorithm.learning_rate must be a finite number from 0 to 1, got 1.5"},
      {[=](auto& j) { j.mutable_algorithm()->set_discount(kNan); },
       "algorithm.discount must be a finite number from 0 to 1, got nan"},
      {[](auto& j) { j.mutable_budget()->set_target_return(INFINITY); },
       "budget.target_return must be a finite number, got inf"},
      {[](auto& j) { j.mutable_budget()->set_seconds(0); },
       "budget.seconds must be a finite number from 0.1 to 1000000000, got 0"},
      {[](auto& j) { j.mutable_algorithm()->set_correction("v-trace"); },
       "algorithm.correction must be one of \"none\", \"vtrace\", got "
       "\"v-trace\""},
      {[](auto& j) { j.mutable_algorithm()->set_kind("sac"); },
       "algorithm.kind must be \"ppo\", got \"sac\""},
      {[](auto& j) { j.mutable_policy()->set_kind(std::string(200, '\x01')); },
       "policy.kind must be one of \"mlp_gaussian\", \"tiny_vla\", got \""},
      {[](auto& j) {
         j.mutable_policy()->add_hidden_sizes(64);
         j.mutable_policy()->add_hidden_sizes(0);
       },
       "policy.hidden_sizes must be a list, such as [64, 64], each item a "
       "whole number from 1 to 8192, got 0"},
      {[](auto& j) {
         for (int i = 0; i < 65; ++i) j.mutable_policy()->add_hidden_sizes(8);
       },
       "policy.hidden_sizes must have at most 64 items, got 65"},
      {[](auto& j) { j.mutable_resources()->set_learners(2); },
       "resources.learners must be a whole number from 1 to 1, got 2"},
      {[](auto& j) { j.mutable_pacing()->set_max_policy_lag(-1); },
       "pacing.max_policy_lag must be a whole number from 0 to 1000000, got "
       "-1"},
      {[](auto& j) { j.mutable_resources()->set_inference_batch(5); },
       "resources.inference_batch must divide environments_per_rollout (16), "
       "got 5"},
      {[](auto& j) {
         j.mutable_pacing()->set_max_policy_lag(0);
         j.mutable_resources()->set_rollouts(3);
       },
       "algorithm.batch_credits must be a multiple of rollouts * "
       "environments_per_rollout (48) where pacing.max_policy_lag is 0, got "
       "16"},
      {[](auto& j) {
         j.mutable_algorithm()->set_batch_credits(1);
         j.mutable_algorithm()->set_unroll_length(3);
       },
       "algorithm.minibatches must be at most batch_credits * unroll_length "
       "(3), got 4"},
      {[](auto& j) {
         j.mutable_policy()->set_kind("tiny_vla");
         j.mutable_policy()->set_heads(5);
       },
       "policy.heads must divide policy.width (64), got 5"},
      {[](auto& j) { j.mutable_algorithm()->set_adam_beta2(1); },
       "algorithm.adam_beta2 must be below 1, got 1"},
  };
  for (const Row& row : rows) {
    const std::string error = ErrorAfter(row.change);
    EXPECT_EQ(error.substr(0, row.sentence.size()), row.sentence);
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    EXPECT_LT(error.size(), 500u);
  }
}

TEST(JobRulesTest, WhatIsAllowedAtTheEdgesIsAccepted) {
  EXPECT_EQ(ErrorAfter([](auto& j) {
              j.mutable_pacing()->set_max_policy_lag(0);
              j.mutable_algorithm()->set_batch_credits(32);
            }),
            "");
  EXPECT_EQ(ErrorAfter([](auto& j) {
              j.mutable_resources()->set_inference_batch(16);
            }),
            "");
  EXPECT_EQ(ErrorAfter([](auto& j) {
              j.mutable_policy()->set_heads(5);  // Of no interest to an MLP.
            }),
            "");
  EXPECT_EQ(ErrorAfter([](auto& j) {
              j.mutable_budget()->clear_train_steps();
              j.mutable_budget()->set_target_return(-5);
            }),
            "");
}

// For every number in the proto: below its minimum and above its maximum are
// errors that begin with its path.
TEST(JobRulesTest, EveryRangeIsChecked) {
  using google::protobuf::FieldDescriptor;
  using google::protobuf::Message;
  int checked = 0;
  const v1::JobSpec resolved = ResolveJob(LeastJob())->spec;
  const auto& sections = *v1::JobSpec::descriptor();
  for (int s = 0; s < sections.field_count(); ++s) {
    const FieldDescriptor& section = *sections.field(s);
    if (section.message_type() == nullptr) continue;
    for (int f = 0; f < section.message_type()->field_count(); ++f) {
      const FieldDescriptor& field = *section.message_type()->field(f);
      const v1::Rule& rule = RuleOf(field);
      if (!rule.has_min() || field.is_repeated()) continue;
      for (const double value : {rule.min() - 1, rule.max() + 1}) {
        v1::JobSpec job = resolved;
        Message& message = *job.GetReflection()->MutableMessage(&job, &section);
        const auto& reflection = *message.GetReflection();
        if (field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
          reflection.SetDouble(&message, &field, value);
        } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT32) {
          reflection.SetInt32(&message, &field, static_cast<int32_t>(value));
        } else {
          reflection.SetInt64(&message, &field, static_cast<int64_t>(value));
        }
        const absl::Status status = ResolveJob(job).status();
        EXPECT_TRUE(Contains(status.message(),
                             section.name() + "." + field.name() + " must be"))
            << value;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 70);
}

TEST(JobRulesTest, AFieldOfANewerProtoIsAnError) {
  EXPECT_EQ(ErrorAfter([](auto& j) {
              j.mutable_policy()
                  ->GetReflection()
                  ->MutableUnknownFields(j.mutable_policy())
                  ->AddVarint(99, 1);
            }),
            "policy has a field this build does not know: number 99");
}

TEST(JobRulesTest, WarnsOfEnvironmentsThatWouldNeverRun) {
  v1::JobSpec job = LeastJob();
  job.mutable_resources()->set_rollouts(6);  // 96 environments, 80 credits.
  const absl::StatusOr<ResolvedJob> resolved = ResolveJob(job);
  ASSERT_TRUE(resolved.ok());
  ASSERT_EQ(resolved->warnings.size(), 1u);
  EXPECT_TRUE(Contains(resolved->warnings[0], "16 of them never run"));
  job.mutable_resources()->set_rollouts(5);
  EXPECT_TRUE(ResolveJob(job)->warnings.empty());
}

TEST(JobSpecCodecTest, BytesComeBackAsTheSameJob) {
  JobSpec job;
  job.task = "gymnasium:HalfCheetah-v5";
  job.policy.kind = "tiny_vla";
  job.algorithm.correction = Correction::kNone;
  job.algorithm.learning_rate_schedule = LearningRateSchedule::kConstant;
  job.pretraining.scripted = true;
  job.pacing.answer_deadline = 0.25;
  job.resources.inference_batch = 4;
  job.budget.target_return = -3.5;
  job.evaluation.every_environment_steps = 1000;
  job.seed = 77;
  const std::string bytes = JobSpecBytes(job);
  const absl::StatusOr<JobSpec> back = JobSpecFromBytes(bytes);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(JobSpecBytes(*back), bytes);
  EXPECT_EQ(back->algorithm.correction, Correction::kNone);
  EXPECT_TRUE(back->pretraining.scripted);
  EXPECT_EQ(back->pacing.answer_deadline, 0.25);
  EXPECT_EQ(back->budget.target_return, -3.5);
}

TEST(JobSpecCodecTest, WrongBytesAreRefused) {
  EXPECT_EQ(JobSpecFromBytes("\xff\xff not a job").status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(JobSpecFromBytes("").status().code(),
            absl::StatusCode::kInvalidArgument)
      << "a job without a task";
}

}  // namespace
}  // namespace flywheel
