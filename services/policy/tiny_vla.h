#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "services/policy/network_layers.h"
#include "services/policy/policy_network.h"

namespace flywheel {

// A small vision-language-action policy, made to learn within minutes on a CPU.
//
//   image ─ two convolutions ─┬─ patches ──────────────────────┐ context
//                             └─ map, shaped by the words       │
//                                  └─ pointers: where? ─┐       ▼
//   words, joint state ──────────────────────────────── tokens ─ transformer
//                                            action readout ─ mean of the chunk
//                                             value readout ─ value
//
// The words scale and shift the channels of a feature map (FiLM); each pointer
// is the center of mass of a softmax over that map, so "where is the red cube"
// has an answer in coordinates after few examples. Pointers, words, joint state
// and two readout tokens go through pre-norm transformer blocks, which also
// look at the image patches.
class TinyVla final : public PolicyNetwork {
 public:
  static absl::StatusOr<std::shared_ptr<PolicyNetwork>> Make(
      const PolicySpec& spec, const PolicyShape& shape, uint64_t seed);

  PolicyOutputs forward(const PolicyInputs& inputs) override;

 private:
  TinyVla(const PolicySpec& spec, const PolicyShape& shape, uint64_t seed);

  // Where the pointers point: [n, pointers, 2] in [-1, 1], row before column.
  torch::Tensor Point(const torch::Tensor& features,
                      const torch::Tensor& words);

  const PolicyShape shape_;
  LayerMaker maker_;

  Convolution stem_0_;
  Convolution stem_1_;
  Convolution patches_;
  torch::Tensor patch_position_;  // [patches, width]

  torch::Tensor words_;          // [vocabulary, width]
  torch::Tensor word_position_;  // [kInstructionTokens, width]
  Linear film_;                  // Words to scales and shifts.

  Convolution map_;
  Convolution pointers_;
  torch::Tensor grid_;  // [positions, 2]: coordinates, no parameter;
                        // moves to the device of what it meets.
  Linear pointer_;
  torch::Tensor pointer_name_;  // [pointers, width]

  Linear state_;
  Linear readout_input_;   // Pointers and state, straight to the readouts.
  torch::Tensor readout_;  // [2, width]: action, value.

  std::vector<TransformerBlock> blocks_;
  LayerNorm final_norm_;
  Linear mean_;
  Linear value_;
  torch::Tensor log_std_;  // [action_chunk, action_size]
};

}  // namespace flywheel
