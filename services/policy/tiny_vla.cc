#include "services/policy/tiny_vla.h"

#include "absl/strings/str_cat.h"
#include "services/policy/instruction_tokenizer.h"

namespace flywheel {
namespace {

constexpr int64_t kStemStride = 4;  // Of the first two convolutions together.
constexpr int64_t kStemChannels[] = {16, 32};
constexpr int64_t kMapChannels = 32;
constexpr int64_t kPointers = 8;
constexpr int64_t kReadouts = 2;
constexpr int64_t kMlpRatio = 4;
constexpr double kTokenStd = 0.5;
constexpr double kGain = 0.6;
// From words to pointers: large enough that pointers differ from the start and
// with the words, or imitation waits long until one of them finds an object.
constexpr double kConvolutionGain = 1.4;
constexpr double kFilmGain = 2.0;

absl::Status Check(const PolicySpec& spec, const PolicyShape& shape) {
  if (!shape.has_image()) {
    return absl::InvalidArgumentError(
        "policy.kind tiny_vla needs an image observation, the task has none");
  }
  if (spec.heads < 1 || spec.width % spec.heads != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.width must be a multiple of policy.heads (",
                     spec.heads, "), got ", spec.width));
  }
  if (spec.layers < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.layers must be >= 1, got ", spec.layers));
  }
  if (spec.patch < kStemStride || spec.patch % kStemStride != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.patch must be a multiple of ", kStemStride,
                     ", got ", spec.patch));
  }
  if (shape.image[0] % spec.patch != 0 || shape.image[1] % spec.patch != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("policy.patch must divide the image's ", shape.image[0],
                     " x ", shape.image[1], " pixels, got ", spec.patch));
  }
  return absl::OkStatus();
}

// Coordinates in [-1, 1] of every position of the map, row by row.
torch::Tensor Grid(int64_t rows, int64_t columns) {
  const auto axis = [](int64_t size) {
    return size > 1 ? torch::linspace(-1, 1, size) : torch::zeros({1});
  };
  const auto axes = torch::meshgrid({axis(rows), axis(columns)}, "ij");
  return torch::stack({axes[0], axes[1]}, -1).view({rows * columns, 2});
}

}  // namespace

absl::StatusOr<std::shared_ptr<PolicyNetwork>> TinyVla::Make(
    const PolicySpec& spec, const PolicyShape& shape, uint64_t seed) {
  const absl::Status status = Check(spec, shape);
  if (!status.ok()) return status;
  return std::shared_ptr<PolicyNetwork>(new TinyVla(spec, shape, seed));
}

TinyVla::TinyVla(const PolicySpec& spec, const PolicyShape& shape,
                 uint64_t seed)
    : shape_(shape), maker_(*this, seed) {
  const int64_t width = spec.width;
  const int64_t merge = spec.patch / kStemStride;
  stem_0_ = maker_.MakeConvolution("stem_0", shape.image[2], kStemChannels[0],
                                   3, 2, kConvolutionGain);
  stem_1_ = maker_.MakeConvolution("stem_1", kStemChannels[0], kStemChannels[1],
                                   3, 2, kConvolutionGain);
  patches_ = maker_.MakeConvolution("patches", kStemChannels[1], width, merge,
                                    merge, kGain);
  patch_position_ = maker_.MakeTokens(
      "patch_position",
      (shape.image[0] / spec.patch) * (shape.image[1] / spec.patch), width,
      kTokenStd);
  if (shape.has_instruction) {
    words_ =
        maker_.MakeTokens("words", kInstructionVocabulary, width, kTokenStd);
    word_position_ = maker_.MakeTokens("word_position", kInstructionTokens,
                                       width, kTokenStd);
    film_ = maker_.MakeLinear("film", kInstructionTokens * width,
                              2 * kMapChannels, kFilmGain);
  }
  map_ = maker_.MakeConvolution("map", kStemChannels[1], kMapChannels, 3, 1,
                                kConvolutionGain);
  pointers_ = maker_.MakeConvolution("pointers", kMapChannels, kPointers, 1, 1,
                                     kConvolutionGain);
  grid_ = Grid(shape.image[0] / kStemStride, shape.image[1] / kStemStride);
  pointer_ = maker_.MakeLinear("pointer", 2, width, 1.4);
  pointer_name_ =
      maker_.MakeTokens("pointer_name", kPointers, width, kTokenStd);
  int64_t readout_inputs = 2 * kPointers;
  if (shape.state_size > 0) {
    state_ = maker_.MakeLinear("state", shape.state_size, width, kGain);
    readout_inputs += shape.state_size;
  }
  readout_input_ =
      maker_.MakeLinear("readout_input", readout_inputs, width, kGain);
  readout_ = maker_.MakeTokens("readout", kReadouts, width, kTokenStd);
  for (int i = 0; i < spec.layers; ++i) {
    blocks_.push_back(maker_.MakeBlock(absl::StrCat("block_", i), width,
                                       spec.heads, kMlpRatio));
  }
  final_norm_ = maker_.MakeLayerNorm("final_norm", width);
  mean_ = maker_.MakeLinear("mean", width,
                            shape.action_chunk * shape.action_size, 0.08);
  value_ = maker_.MakeLinear("value", width, 1, kGain);
  log_std_ = register_parameter(
      "log_std", torch::full({shape.action_chunk, shape.action_size},
                             spec.initial_log_std, torch::kFloat32));
}

torch::Tensor TinyVla::Point(const torch::Tensor& features,
                             const torch::Tensor& words) {
  torch::Tensor map = map_(features);
  if (words.defined()) {
    const std::vector<torch::Tensor> scale_and_shift =
        film_(words.flatten(1)).view({-1, 2 * kMapChannels, 1, 1}).chunk(2, 1);
    map = map * (1 + scale_and_shift[0]) + scale_and_shift[1];
  }
  const torch::Tensor weights =
      pointers_(torch::gelu(map)).flatten(2).softmax(-1);
  if (grid_.device() != weights.device()) grid_ = grid_.to(weights.device());
  return weights.matmul(grid_);
}

PolicyOutputs TinyVla::forward(const PolicyInputs& inputs) {
  const int64_t rows = inputs.image.size(0);
  const torch::Tensor image =
      (inputs.image.permute({0, 3, 1, 2}).to(torch::kFloat32) - 127.5) *
      (1.0 / 64);
  const torch::Tensor features =
      torch::gelu(stem_1_(torch::gelu(stem_0_(image))));
  const torch::Tensor patches =
      patches_(features).flatten(2).transpose(1, 2) + patch_position_;
  const torch::Tensor words =
      words_.defined()
          ? torch::embedding(words_, inputs.instruction) + word_position_
          : torch::Tensor();
  const torch::Tensor places = Point(features, words);

  std::vector<torch::Tensor> known = {places.flatten(1)};
  if (shape_.state_size > 0) known.push_back(inputs.state);
  std::vector<torch::Tensor> tokens = {
      readout_ + readout_input_(torch::cat(known, 1)).unsqueeze(1),
      pointer_(places) + pointer_name_};
  if (shape_.state_size > 0) {
    tokens.push_back(state_(inputs.state).unsqueeze(1));
  }
  if (words.defined()) tokens.push_back(words);
  torch::Tensor x = torch::cat(tokens, 1);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool last = i + 1 == blocks_.size();
    x = blocks_[i](x, patches, last ? kReadouts : x.size(1));
  }
  const torch::Tensor read = final_norm_(x);
  return {.mean = mean_(read.select(1, 0))
                      .view({rows, shape_.action_chunk, shape_.action_size}),
          .log_std = log_std_,
          .value = value_(read.select(1, 1)).squeeze(1)};
}

}  // namespace flywheel
