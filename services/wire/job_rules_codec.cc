#include "services/wire/job_rules_codec.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/field_rule_codec.h"

namespace flywheel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr std::size_t kNameBytesMax = 63;
constexpr std::size_t kTaskBytesMax = 1024;
constexpr int kHiddenLayersMax = 64;

absl::Status Invalid(absl::string_view sentence) {
  return absl::InvalidArgumentError(sentence);
}

absl::Status ResolveFields(const std::string& section, Message& message);

absl::Status ResolveField(const std::string& path, const FieldDescriptor& field,
                          Message& message) {
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
    return ResolveFields(
        path + ".", *message.GetReflection()->MutableMessage(&message, &field));
  }
  const v1::Rule& rule = RuleOf(field);
  if (!IsGiven(message, field)) {
    if (rule.may_be_unset()) return absl::OkStatus();
    if (!rule.has_default_value()) {
      return Invalid(absl::StrCat(path, " must be given"));
    }
    SetDefault(field, message);
  }
  return CheckRule(path, field, message);
}

absl::Status ResolveFields(const std::string& section, Message& message) {
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  if (!unknown.empty()) {
    return Invalid(absl::StrCat(
        section.empty() ? "the job" : section.substr(0, section.size() - 1),
        " has a field this build does not know: number ",
        unknown.field(0).number()));
  }
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    FLYWHEEL_RETURN_IF_ERROR(
        ResolveField(section + field.name(), field, message));
  }
  return absl::OkStatus();
}

// The rules between fields, and those an option cannot say. Each takes a job
// with all defaults filled in.

absl::Status CheckName(const v1::JobSpec& job) {
  const std::string& name = job.name();
  const bool fits = !name.empty() && name.size() <= kNameBytesMax &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return absl::ascii_isalnum(c) || c == '-';
                    });
  return fits ? absl::OkStatus()
              : Invalid(absl::StrCat(
                    "name must be 1 to ", kNameBytesMax,
                    " letters, digits and dashes, got \"",
                    absl::CHexEscape(name.substr(0, kNameBytesMax)), "\""));
}

absl::Status CheckTask(const v1::JobSpec& job) {
  const std::string& task = job.task();
  const bool fits = !task.empty() && task.size() <= kTaskBytesMax &&
                    std::all_of(task.begin(), task.end(),
                                [](char c) { return absl::ascii_isgraph(c); });
  return fits ? absl::OkStatus()
              : Invalid(absl::StrCat(
                    "task must be 1 to ", kTaskBytesMax,
                    " printable characters without blanks, got \"",
                    absl::CHexEscape(task.substr(0, kNameBytesMax)), "\""));
}

absl::Status CheckHiddenSizes(const v1::JobSpec& job) {
  const int layers = job.policy().hidden_sizes_size();
  return layers <= kHiddenLayersMax
             ? absl::OkStatus()
             : Invalid(absl::StrCat("policy.hidden_sizes must have at most ",
                                    kHiddenLayersMax, " items, got ", layers));
}

absl::Status CheckHeads(const v1::JobSpec& job) {
  const v1::PolicySpec& policy = job.policy();
  if (policy.kind() != "tiny_vla" || policy.width() % policy.heads() == 0) {
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat("policy.heads must divide policy.width (",
                              policy.width(), "), got ", policy.heads()));
}

absl::Status CheckAdamBetas(const v1::JobSpec& job) {
  for (const auto& [name, beta] :
       {std::pair("adam_beta1", job.algorithm().adam_beta1()),
        std::pair("adam_beta2", job.algorithm().adam_beta2())}) {
    if (beta >= 1) {
      return Invalid(
          absl::StrCat("algorithm.", name, " must be below 1, got ", beta));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMinibatches(const v1::JobSpec& job) {
  const v1::AlgorithmSpec& algorithm = job.algorithm();
  const int64_t chunks =
      int64_t{algorithm.batch_credits()} * algorithm.unroll_length();
  if (algorithm.minibatches() <= chunks) return absl::OkStatus();
  return Invalid(absl::StrCat(
      "algorithm.minibatches must be at most batch_credits * unroll_length (",
      chunks, "), got ", algorithm.minibatches()));
}

absl::Status CheckInferenceBatch(const v1::JobSpec& job) {
  const v1::ResourcesSpec& resources = job.resources();
  if (!resources.has_inference_batch() ||
      resources.environments_per_rollout() % resources.inference_batch() == 0) {
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat(
      "resources.inference_batch must divide environments_per_rollout (",
      resources.environments_per_rollout(), "), got ",
      resources.inference_batch()));
}

int64_t Environments(const v1::JobSpec& job) {
  return int64_t{job.resources().rollouts()} *
         job.resources().environments_per_rollout();
}

// The synchronous run gives each environment equally many credits of a train
// step; otherwise which ones it takes would depend on who is faster.
absl::Status CheckSynchronousBatch(const v1::JobSpec& job) {
  if (job.pacing().max_policy_lag() != 0 ||
      job.algorithm().batch_credits() % Environments(job) == 0) {
    return absl::OkStatus();
  }
  return Invalid(absl::StrCat(
      "algorithm.batch_credits must be a multiple of rollouts * "
      "environments_per_rollout (",
      Environments(job), ") where pacing.max_policy_lag is 0, got ",
      job.algorithm().batch_credits()));
}

absl::Status CheckBudget(const v1::JobSpec& job) {
  const v1::BudgetSpec& budget = job.budget();
  if (budget.has_environment_steps() || budget.has_train_steps() ||
      budget.has_seconds() || budget.has_target_return()) {
    return absl::OkStatus();
  }
  return Invalid(
      "budget must give at least one of environment_steps, train_steps, "
      "seconds, target_return, got none");
}

std::vector<std::string> Warnings(const v1::JobSpec& job) {
  const int64_t credits =
      (job.pacing().max_policy_lag() + 1) * job.algorithm().batch_credits();
  if (Environments(job) <= credits) return {};
  return {absl::StrCat(
      "resources: ", Environments(job),
      " environments are more than the (max_policy_lag + 1) * batch_credits = ",
      credits, " credits there can ever be: ", Environments(job) - credits,
      " of them never run")};
}

}  // namespace

absl::StatusOr<ResolvedJob> ResolveJob(const v1::JobSpec& given) {
  ResolvedJob job{.spec = given};
  FLYWHEEL_RETURN_IF_ERROR(ResolveFields("", job.spec));
  for (const auto check :
       {CheckName, CheckTask, CheckHiddenSizes, CheckHeads, CheckAdamBetas,
        CheckMinibatches, CheckInferenceBatch, CheckSynchronousBatch,
        CheckBudget}) {
    FLYWHEEL_RETURN_IF_ERROR(check(job.spec));
  }
  job.warnings = Warnings(job.spec);
  return job;
}

}  // namespace flywheel
