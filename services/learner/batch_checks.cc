#include "services/learner/batch_checks.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/core/status_macros.h"
#include "services/policy/instruction_tokenizer.h"

namespace flywheel {
namespace {

absl::Status CheckTensor(const std::string& name, const torch::Tensor& tensor,
                         torch::ScalarType type,
                         const std::vector<int64_t>& shape) {
  if (!tensor.defined()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is missing"));
  }
  if (tensor.scalar_type() != type) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be ", torch::toString(type), ", got ",
                     torch::toString(tensor.scalar_type())));
  }
  if (tensor.sizes() != torch::IntArrayRef(shape)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be [", absl::StrJoin(shape, ", "), "], got [",
                     absl::StrJoin(tensor.sizes(), ", "), "]"));
  }
  return absl::OkStatus();
}

absl::Status CheckCount(const std::string& name, std::size_t count,
                        int64_t wanted) {
  if (static_cast<int64_t>(count) == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must have ", wanted, " elements, got ", count));
}

absl::Status CheckFinite(const std::string& name,
                         const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " must be finite, got ", values[i], " at ", i));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckFinite(const std::string& name, const torch::Tensor& tensor) {
  if (!tensor.defined() || tensor.isfinite().all().item<bool>()) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be finite, and some elements are not"));
}

absl::Status CheckObservations(const std::string& prefix, int64_t rows,
                               const torch::Tensor& image,
                               const torch::Tensor& state,
                               const PolicyShape& shape) {
  if (shape.has_image()) {
    FLYWHEEL_RETURN_IF_ERROR(
        CheckTensor(prefix + "image", image, torch::kUInt8,
                    {rows, shape.image[0], shape.image[1], shape.image[2]}));
  }
  if (shape.state_size > 0) {
    FLYWHEEL_RETURN_IF_ERROR(CheckTensor(
        prefix + "state", state, torch::kFloat32, {rows, shape.state_size}));
  }
  return absl::OkStatus();
}

// Tokens index an embedding table, so a wrong one would read beyond it.
absl::Status CheckInstruction(const torch::Tensor& instruction, int64_t rows,
                              const PolicyShape& shape) {
  if (!shape.has_instruction || !instruction.defined()) return absl::OkStatus();
  FLYWHEEL_RETURN_IF_ERROR(CheckTensor(
      "instruction", instruction, torch::kInt64, {rows, kInstructionTokens}));
  const bool inside =
      instruction.numel() == 0 ||
      (instruction.min().item<int64_t>() >= 0 &&
       instruction.max().item<int64_t>() < kInstructionVocabulary);
  if (inside) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "instruction must hold tokens from 0 to ", kInstructionVocabulary - 1,
      ", got ", instruction.min().item<int64_t>(), " to ",
      instruction.max().item<int64_t>()));
}

absl::Status CheckSteps(const std::vector<int32_t>& steps_executed,
                        int64_t action_chunk) {
  for (const int32_t steps : steps_executed) {
    if (steps < 1 || steps > action_chunk) {
      return absl::InvalidArgumentError(absl::StrCat(
          "steps_executed must be from 1 to ", action_chunk, ", got ", steps));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckTrainBatch(const TrainBatch& batch,
                             const PolicyShape& shape) {
  const int64_t chunks = static_cast<int64_t>(batch.steps_executed.size());
  const int64_t trajectories = static_cast<int64_t>(batch.num_chunks.size());
  if (chunks == 0) {
    return absl::InvalidArgumentError("a train batch needs at least one chunk");
  }
  FLYWHEEL_RETURN_IF_ERROR(
      CheckSteps(batch.steps_executed, shape.action_chunk));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckObservations("", chunks, batch.image, batch.state, shape));
  FLYWHEEL_RETURN_IF_ERROR(CheckObservations(
      "final_", trajectories, batch.final_image, batch.final_state, shape));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckInstruction(batch.instruction, trajectories, shape));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckTensor("action", batch.action, torch::kFloat32,
                  {chunks, shape.action_chunk, shape.action_size}));
  FLYWHEEL_RETURN_IF_ERROR(CheckCount("behavior_log_probability",
                                      batch.behavior_log_probability.size(),
                                      chunks));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckCount("behavior_value", batch.behavior_value.size(), chunks));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckCount("behavior_version", batch.behavior_version.size(), chunks));
  FLYWHEEL_RETURN_IF_ERROR(CheckCount("end", batch.end.size(), trajectories));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckCount("running_return", batch.running_return.size(), trajectories));
  const int64_t steps = std::accumulate(batch.steps_executed.begin(),
                                        batch.steps_executed.end(), int64_t{0});
  FLYWHEEL_RETURN_IF_ERROR(CheckCount("reward", batch.reward.size(), steps));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("reward", batch.reward));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("running_return", batch.running_return));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckFinite("behavior_log_probability", batch.behavior_log_probability));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("state", batch.state));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("action", batch.action));
  int64_t counted = 0;
  for (const int64_t count : batch.num_chunks) {
    if (count < 1 || count > chunks - counted) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_chunks must each be >= 1 and sum to ", chunks,
                       ", got ", count, " after ", counted));
    }
    counted += count;
  }
  if (counted != chunks) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_chunks must sum to ", chunks, ", got ", counted));
  }
  return absl::OkStatus();
}

absl::Status CheckImitationBatch(const ImitationBatch& batch,
                                 const PolicyShape& shape) {
  const int64_t chunks = static_cast<int64_t>(batch.steps_executed.size());
  if (chunks == 0) {
    return absl::InvalidArgumentError(
        "an imitation batch needs at least one chunk");
  }
  FLYWHEEL_RETURN_IF_ERROR(
      CheckSteps(batch.steps_executed, shape.action_chunk));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckObservations("", chunks, batch.image, batch.state, shape));
  FLYWHEEL_RETURN_IF_ERROR(CheckInstruction(batch.instruction, chunks, shape));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckTensor("action", batch.action, torch::kFloat32,
                  {chunks, shape.action_chunk, shape.action_size}));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("state", batch.state));
  FLYWHEEL_RETURN_IF_ERROR(CheckFinite("action", batch.action));
  FLYWHEEL_RETURN_IF_ERROR(
      CheckFinite("discounted_return", batch.discounted_return));
  if (batch.discounted_return.empty()) return absl::OkStatus();
  return CheckCount("discounted_return", batch.discounted_return.size(),
                    chunks);
}

}  // namespace flywheel
