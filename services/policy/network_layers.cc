#include "services/policy/network_layers.h"

#include <cmath>

namespace flywheel {
namespace {

// What residual branches begin with: small, so that blocks begin near identity.
constexpr double kResidualGain = 0.5;
constexpr double kGain = 0.6;

}  // namespace

torch::Tensor TransformerBlock::operator()(const torch::Tensor& tokens,
                                           const torch::Tensor& context,
                                           int64_t outputs) const {
  const torch::Tensor all =
      context.defined() ? torch::cat({tokens, context}, 1) : tokens;
  const int64_t rows = all.size(0);
  const int64_t width = all.size(2);
  const torch::Tensor parts = query_key_value(attention_norm(all))
                                  .view({rows, all.size(1), 3, heads, -1})
                                  .permute({2, 0, 3, 1, 4});
  const torch::Tensor mixed = at::scaled_dot_product_attention(
      parts[0].narrow(2, 0, outputs), parts[1], parts[2]);
  const torch::Tensor x =
      tokens.narrow(1, 0, outputs) +
      attention_out(mixed.transpose(1, 2).reshape({rows, outputs, width}));
  return x + mlp_out(torch::gelu(mlp_in(mlp_norm(x))));
}

Linear LayerMaker::MakeLinear(const std::string& name, int64_t inputs,
                              int64_t outputs, double gain) {
  return {.weight = MakeWeight(name, {outputs, inputs}, inputs, gain),
          .bias = MakeBias(name, outputs)};
}

LayerNorm LayerMaker::MakeLayerNorm(const std::string& name, int64_t width) {
  return {.weight = module_.register_parameter(name + "_weight",
                                               torch::ones({width})),
          .bias = MakeBias(name, width)};
}

Convolution LayerMaker::MakeConvolution(const std::string& name, int64_t inputs,
                                        int64_t outputs, int64_t side,
                                        int64_t stride, double gain) {
  return {.weight = MakeWeight(name, {outputs, inputs, side, side},
                               inputs * side * side, gain),
          .bias = MakeBias(name, outputs),
          .stride = stride,
          .padding = stride == side ? 0 : side / 2};
}

TransformerBlock LayerMaker::MakeBlock(const std::string& name, int64_t width,
                                       int64_t heads, int64_t mlp_ratio) {
  const int64_t hidden = mlp_ratio * width;
  return {
      .heads = heads,
      .attention_norm = MakeLayerNorm(name + "_attention_norm", width),
      .query_key_value =
          MakeLinear(name + "_query_key_value", width, 3 * width, kGain),
      .attention_out =
          MakeLinear(name + "_attention_out", width, width, kResidualGain),
      .mlp_norm = MakeLayerNorm(name + "_mlp_norm", width),
      .mlp_in = MakeLinear(name + "_mlp_in", width, hidden, kGain),
      .mlp_out = MakeLinear(name + "_mlp_out", hidden, width, kResidualGain)};
}

torch::Tensor LayerMaker::MakeTokens(const std::string& name, int64_t count,
                                     int64_t width, double std) {
  return module_.register_parameter(name,
                                    initial_.Normal(name, {count, width}, std));
}

torch::Tensor LayerMaker::MakeWeight(const std::string& name,
                                     const std::vector<int64_t>& shape,
                                     int64_t inputs, double gain) {
  const std::string weight = name + "_weight";
  return module_.register_parameter(
      weight, initial_.Normal(weight, shape,
                              gain / std::sqrt(static_cast<double>(inputs))));
}

torch::Tensor LayerMaker::MakeBias(const std::string& name, int64_t size) {
  return module_.register_parameter(name + "_bias", torch::zeros({size}));
}

}  // namespace flywheel
