#include "services/learner/chunk_rows.h"

#include <cstddef>
#include <span>

#include "services/policy/instruction_tokenizer.h"

namespace flywheel {

ChunkRows ChunkRows::Select(const torch::Tensor& index) const {
  const auto pick = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.index_select(0, index) : tensor;
  };
  return {.inputs = {.image = pick(inputs.image),
                     .state = pick(inputs.state),
                     .instruction = pick(inputs.instruction)},
          .targets = {.action = pick(targets.action),
                      .steps_executed = pick(targets.steps_executed),
                      .behavior_log_probability =
                          pick(targets.behavior_log_probability),
                      .behavior_value = pick(targets.behavior_value),
                      .advantage = pick(targets.advantage),
                      .value_target = pick(targets.value_target)}};
}

PolicyInputs MakeInputs(const torch::Tensor& image, const torch::Tensor& state,
                        const torch::Tensor& instruction, int64_t rows,
                        const InputRules& rules) {
  PolicyInputs inputs;
  if (rules.shape.has_image()) inputs.image = image.to(rules.device);
  if (rules.shape.state_size > 0) {
    const torch::Tensor normalized =
        state.clone(torch::MemoryFormat::Contiguous);
    if (rules.normalizer != nullptr) {
      // The very function that the acting policy calls.
      Normalize(*rules.normalizer,
                std::span(normalized.data_ptr<float>(),
                          static_cast<std::size_t>(normalized.numel())));
    }
    inputs.state = normalized.to(rules.device);
  }
  if (rules.shape.has_instruction) {
    inputs.instruction =
        instruction.defined()
            ? instruction.to(rules.device)
            : torch::zeros(
                  {rows, kInstructionTokens},
                  torch::TensorOptions(torch::kInt64).device(rules.device));
  }
  return inputs;
}

PolicyInputs NarrowInputs(const PolicyInputs& inputs, int64_t first,
                          int64_t count) {
  const auto narrow = [&](const torch::Tensor& tensor) {
    return tensor.defined() ? tensor.narrow(0, first, count) : tensor;
  };
  return {.image = narrow(inputs.image),
          .state = narrow(inputs.state),
          .instruction = narrow(inputs.instruction)};
}

ChunkRows MakeChunkRows(const TrainBatch& batch, const InputRules& rules) {
  const int64_t chunks = static_cast<int64_t>(batch.steps_executed.size());
  torch::Tensor instruction = batch.instruction;
  if (instruction.defined()) {
    instruction = instruction.repeat_interleave(
        ToDevice(batch.num_chunks, torch::kInt64, torch::kCPU), 0);
  }
  return {
      .inputs =
          MakeInputs(batch.image, batch.state, instruction, chunks, rules),
      .targets = {
          .action = batch.action.to(rules.device),
          .steps_executed =
              ToDevice(batch.steps_executed, torch::kInt64, rules.device),
          .behavior_log_probability = ToDevice(batch.behavior_log_probability,
                                               torch::kFloat32, rules.device),
          .behavior_value =
              ToDevice(batch.behavior_value, torch::kFloat32, rules.device)}};
}

}  // namespace flywheel
