#pragma once

#include <torch/torch.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/policy/safetensors.h"

namespace flywheel {

// Collects named arrays and writes them as one safetensors file.
class StateWriter {
 public:
  void Add(const std::string& name, std::vector<int64_t> shape,
           std::span<const std::byte> bytes);  // float32; kept by reference.
  void Add(const std::string& name, const torch::Tensor& tensor);  // float32
  void Add(const std::string& name, std::vector<double> values);
  void Add(const std::string& name, std::vector<int64_t> values);

  std::vector<std::byte> Bytes() const { return SafetensorsBytes(tensors_); }

 private:
  std::vector<TensorView> tensors_;
  // What the views look at; deques do not move their elements.
  std::deque<torch::Tensor> held_tensors_;
  std::deque<std::vector<double>> held_doubles_;
  std::deque<std::vector<int64_t>> held_integers_;
};

// Reads them back. Methods return InvalidArgument naming the array if it is
// missing or is not what is asked for.
class StateReader {
 public:
  static absl::StatusOr<StateReader> Open(std::span<const std::byte> bytes);

  // float32 of that many elements, on the CPU.
  absl::StatusOr<torch::Tensor> Floats(const std::string& name,
                                       int64_t count) const;
  absl::StatusOr<std::vector<double>> Doubles(const std::string& name,
                                              int64_t count) const;
  absl::StatusOr<std::vector<int64_t>> Integers(const std::string& name,
                                                int64_t count) const;

 private:
  explicit StateReader(Safetensors stored) : stored_(std::move(stored)) {}

  absl::StatusOr<const TensorView*> Find(const std::string& name,
                                         ElementKind element,
                                         int64_t count) const;

  Safetensors stored_;
};

}  // namespace flywheel
