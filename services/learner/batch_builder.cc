#include "services/learner/batch_builder.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "services/policy/instruction_tokenizer.h"
#include "services/wire/record.h"

namespace flywheel {
namespace {

// A view of a column's items as a tensor; the record must outlive it.
torch::Tensor Wrap(std::span<const std::byte> bytes, std::vector<int64_t> shape,
                   torch::ScalarType type) {
  // from_blob takes a mutable pointer; nobody writes through it.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
  return torch::from_blob(const_cast<std::byte*>(bytes.data()), shape,
                          torch::TensorOptions().dtype(type));
}

std::vector<int64_t> Items(int64_t count, const std::vector<int64_t>& shape) {
  std::vector<int64_t> sizes = {count};
  sizes.insert(sizes.end(), shape.begin(), shape.end());
  return sizes;
}

torch::Tensor Joined(const std::vector<torch::Tensor>& parts) {
  return parts.empty() ? torch::Tensor() : torch::cat(parts);
}

template <typename T>
void Append(std::vector<T>& to, std::span<const T> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Tensors of many records, not yet joined.
struct Parts {
  std::vector<torch::Tensor> image, state, action, final_image, final_state,
      instruction;
};

TrajectoryEnd EndOf(const RecordView& record, const TrajectorySchema& schema) {
  const std::size_t last = record.header().num_steps - 1;
  const auto flag = [&](std::string_view name) {
    return record.elements<uint8_t>(schema.Find(name))[last] != 0;
  };
  if (flag(column::kTerminated)) return TrajectoryEnd::kTerminated;
  if (flag(column::kTruncated)) return TrajectoryEnd::kTruncated;
  return TrajectoryEnd::kCut;
}

// What is discounted from each chunk's first step to the end of the record.
void AppendDiscountedReturns(std::span<const float> rewards,
                             std::span<const int32_t> steps_executed,
                             double discount, std::vector<float>& returns) {
  std::vector<float> of_chunk(steps_executed.size());
  double running = 0;
  std::size_t step = rewards.size();
  for (std::size_t chunk = steps_executed.size(); chunk-- > 0;) {
    for (int i = 0; i < steps_executed[chunk]; ++i) {
      running = rewards[--step] + discount * running;
    }
    of_chunk[chunk] = static_cast<float>(running);
  }
  Append<float>(returns, of_chunk);
}

}  // namespace

absl::StatusOr<BatchBuilder> BatchBuilder::Create(
    const TrajectorySchema& schema) {
  BatchBuilder builder;
  absl::StatusOr<PolicyShape> shape = PolicyShapeFromSchema(schema);
  if (!shape.ok()) return shape.status();
  for (const std::string_view needed :
       {column::kAction, column::kLogProbability, column::kValue,
        column::kStepsExecuted, column::kBehaviorVersion, column::kReward,
        column::kTerminated, column::kTruncated, column::kRunningReturn,
        column::kEpisodeReturn, column::kEpisodeSteps}) {
    if (schema.Find(needed) < 0) {
      return absl::InvalidArgumentError(absl::StrCat("the schema lacks column ",
                                                     std::string(needed),
                                                     ", which training needs"));
    }
  }
  builder.schema_ = schema;
  builder.schema_hash_ = SchemaHash(schema);
  builder.shape_ = *shape;
  builder.image_ = schema.Find("observation/image");
  builder.state_ = schema.Find("observation/state");
  builder.final_image_ = schema.Find("final_observation/image");
  builder.final_state_ = schema.Find("final_observation/state");
  builder.instruction_ = schema.Find(column::kInstruction);
  builder.success_ = schema.Find(column::kEpisodeSuccess);
  return builder;
}

absl::StatusOr<TrainBatch> BatchBuilder::Train(
    const std::vector<MessageFrame>& records, int64_t version,
    ExperienceSummary& summary) const {
  const double now_us = static_cast<double>(absl::ToUnixMicros(absl::Now()));
  TrainBatch batch;
  Parts parts;
  for (const MessageFrame& frame : records) {
    const absl::StatusOr<RecordView> record =
        RecordView::Parse(frame.bytes(), schema_, schema_hash_);
    if (!record.ok()) return record.status();
    const RecordHeader& header = record->header();
    const int64_t chunks = header.num_chunks;
    const auto wrap = [&](int index, int64_t items, torch::ScalarType type,
                          std::vector<torch::Tensor>& to) {
      if (index < 0) return;
      to.push_back(Wrap(record->column(index),
                        Items(items, schema_.columns[index].shape), type));
    };
    wrap(image_, chunks, torch::kUInt8, parts.image);
    wrap(state_, chunks, torch::kFloat32, parts.state);
    wrap(final_image_, 1, torch::kUInt8, parts.final_image);
    wrap(final_state_, 1, torch::kFloat32, parts.final_state);
    wrap(schema_.Find(column::kAction), chunks, torch::kFloat32, parts.action);
    const auto floats = [&](std::string_view name) {
      return record->elements<float>(schema_.Find(name));
    };
    Append(batch.behavior_log_probability, floats(column::kLogProbability));
    Append(batch.behavior_value, floats(column::kValue));
    Append(batch.reward, floats(column::kReward));
    Append(batch.steps_executed,
           record->elements<int32_t>(schema_.Find(column::kStepsExecuted)));
    const auto versions =
        record->elements<int64_t>(schema_.Find(column::kBehaviorVersion));
    for (const int64_t behavior : versions) {
      // A newer one than this is of a learner's former life that got further
      // than this one went on from: its lag counts as none.
      batch.behavior_version.push_back(std::min(behavior, version));
      ++summary.policy_lag_counts[version - batch.behavior_version.back()];
    }
    const TrajectoryEnd end = EndOf(*record, schema_);
    batch.num_chunks.push_back(chunks);
    batch.end.push_back(end);
    batch.running_return.push_back(floats(column::kRunningReturn)[0]);
    if (shape_.has_instruction) {
      const InstructionTokens tokens =
          TokenizeInstruction(record->text(instruction_));
      parts.instruction.push_back(
          torch::tensor(std::vector<int64_t>(tokens.begin(), tokens.end()))
              .unsqueeze(0));
    }
    if (end != TrajectoryEnd::kCut) {
      summary.episodes.push_back(
          {.episode_return = floats(column::kEpisodeReturn)[0],
           .steps = record->elements<int64_t>(
               schema_.Find(column::kEpisodeSteps))[0],
           .success =
               success_ >= 0 && record->elements<uint8_t>(success_)[0] != 0});
    }
    summary.environment_steps += header.num_steps;
    summary.sample_age_seconds_mean +=
        (now_us - static_cast<double>(header.created_us)) / 1e6 /
        static_cast<double>(records.size());
  }
  batch.image = Joined(parts.image);
  batch.state = Joined(parts.state);
  batch.action = Joined(parts.action);
  batch.final_image = Joined(parts.final_image);
  batch.final_state = Joined(parts.final_state);
  batch.instruction = Joined(parts.instruction);
  return batch;
}

absl::StatusOr<ImitationBatch> BatchBuilder::Imitation(
    const std::vector<MessageFrame>& records, double discount) const {
  ExperienceSummary unused;
  absl::StatusOr<TrainBatch> episodes = Train(records, 0, unused);
  if (!episodes.ok()) return episodes.status();
  ImitationBatch batch{.image = episodes->image,
                       .state = episodes->state,
                       .action = episodes->action,
                       .steps_executed = episodes->steps_executed};
  if (shape_.has_instruction) {
    batch.instruction = torch::repeat_interleave(
        episodes->instruction, torch::tensor(episodes->num_chunks), 0);
  }
  std::span<const float> rewards = episodes->reward;
  std::span<const int32_t> steps = episodes->steps_executed;
  for (const int64_t chunks : episodes->num_chunks) {
    const std::span<const int32_t> executed = steps.first(chunks);
    int64_t num_steps = 0;
    for (const int32_t count : executed) num_steps += count;
    AppendDiscountedReturns(rewards.first(num_steps), executed, discount,
                            batch.discounted_return);
    steps = steps.subspan(chunks);
    rewards = rewards.subspan(num_steps);
  }
  return batch;
}

}  // namespace flywheel
