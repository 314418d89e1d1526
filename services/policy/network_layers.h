#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "services/policy/initial_weights.h"

namespace flywheel {

// The layers our networks are made of: plain parameters and one operator each.

struct Linear {
  torch::Tensor weight;  // [out, in]
  torch::Tensor bias;    // [out]
  torch::Tensor operator()(const torch::Tensor& x) const {
    return torch::linear(x, weight, bias);
  }
};

// Over the last axis.
struct LayerNorm {
  torch::Tensor weight;
  torch::Tensor bias;
  torch::Tensor operator()(const torch::Tensor& x) const {
    return torch::layer_norm(x, weight.sizes(), weight, bias);
  }
};

struct Convolution {
  torch::Tensor weight;  // [out, in, side, side]
  torch::Tensor bias;    // [out]
  int64_t stride = 1;
  int64_t padding = 0;
  torch::Tensor operator()(const torch::Tensor& x) const {
    return torch::conv2d(x, weight, bias, stride, padding);
  }
};

// One pre-norm block of a transformer.
struct TransformerBlock {
  int64_t heads = 1;
  LayerNorm attention_norm;
  Linear query_key_value;
  Linear attention_out;
  LayerNorm mlp_norm;
  Linear mlp_in;
  Linear mlp_out;

  // Lets each of `tokens` [n, t, width] look at all of them and at `context`
  // [n, c, width], then rewrites it. Returns only the first `outputs` tokens:
  // the last block need not compute what nobody reads.
  torch::Tensor operator()(const torch::Tensor& tokens,
                           const torch::Tensor& context, int64_t outputs) const;
};

// Adds layers to a module: registers their parameters under the layer's name
// and draws the initial weights, normal with std gain / sqrt(inputs).
class LayerMaker {
 public:
  // `module` must outlive the maker.
  LayerMaker(torch::nn::Module& module, uint64_t seed)
      : module_(module), initial_(seed) {}

  Linear MakeLinear(const std::string& name, int64_t inputs, int64_t outputs,
                    double gain);
  LayerNorm MakeLayerNorm(const std::string& name, int64_t width);
  // Padded by half of `side`, or not at all where the windows do not overlap.
  Convolution MakeConvolution(const std::string& name, int64_t inputs,
                              int64_t outputs, int64_t side, int64_t stride,
                              double gain);
  TransformerBlock MakeBlock(const std::string& name, int64_t width,
                             int64_t heads, int64_t mlp_ratio);
  // Learned vectors [count, width].
  torch::Tensor MakeTokens(const std::string& name, int64_t count,
                           int64_t width, double std);

 private:
  torch::Tensor MakeWeight(const std::string& name,
                           const std::vector<int64_t>& shape, int64_t inputs,
                           double gain);
  torch::Tensor MakeBias(const std::string& name, int64_t size);

  torch::nn::Module& module_;
  const InitialWeights initial_;
};

}  // namespace flywheel
