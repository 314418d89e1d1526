#include "services/learner/learner_state.h"

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace flywheel {

void StateWriter::Add(const std::string& name, std::vector<int64_t> shape,
                      std::span<const std::byte> bytes) {
  tensors_.push_back({.name = name,
                      .element = ElementKind::kFloat32,
                      .shape = std::move(shape),
                      .bytes = bytes});
}

void StateWriter::Add(const std::string& name, const torch::Tensor& tensor) {
  const torch::Tensor& held =
      held_tensors_.emplace_back(tensor.detach().cpu().contiguous());
  Add(name, held.sizes().vec(),
      std::as_bytes(std::span(held.data_ptr<float>(), held.numel())));
}

void StateWriter::Add(const std::string& name, std::vector<double> values) {
  const std::vector<double>& held =
      held_doubles_.emplace_back(std::move(values));
  tensors_.push_back({.name = name,
                      .element = ElementKind::kFloat64,
                      .shape = {static_cast<int64_t>(held.size())},
                      .bytes = std::as_bytes(std::span(held))});
}

void StateWriter::Add(const std::string& name, std::vector<int64_t> values) {
  const std::vector<int64_t>& held =
      held_integers_.emplace_back(std::move(values));
  tensors_.push_back({.name = name,
                      .element = ElementKind::kInt64,
                      .shape = {static_cast<int64_t>(held.size())},
                      .bytes = std::as_bytes(std::span(held))});
}

absl::StatusOr<StateReader> StateReader::Open(
    std::span<const std::byte> bytes) {
  absl::StatusOr<Safetensors> stored = SafetensorsFromBytes(bytes);
  if (!stored.ok()) return stored.status();
  return StateReader(*std::move(stored));
}

absl::StatusOr<torch::Tensor> StateReader::Floats(const std::string& name,
                                                  int64_t count) const {
  const absl::StatusOr<const TensorView*> view =
      Find(name, ElementKind::kFloat32, count);
  if (!view.ok()) return view.status();
  torch::Tensor tensor = torch::empty({count}, torch::kFloat32);
  std::memcpy(tensor.data_ptr<float>(), (*view)->bytes.data(),
              (*view)->bytes.size());
  return tensor;
}

absl::StatusOr<std::vector<double>> StateReader::Doubles(
    const std::string& name, int64_t count) const {
  const absl::StatusOr<const TensorView*> view =
      Find(name, ElementKind::kFloat64, count);
  if (!view.ok()) return view.status();
  std::vector<double> values(count);
  std::memcpy(values.data(), (*view)->bytes.data(), (*view)->bytes.size());
  return values;
}

absl::StatusOr<std::vector<int64_t>> StateReader::Integers(
    const std::string& name, int64_t count) const {
  const absl::StatusOr<const TensorView*> view =
      Find(name, ElementKind::kInt64, count);
  if (!view.ok()) return view.status();
  std::vector<int64_t> values(count);
  std::memcpy(values.data(), (*view)->bytes.data(), (*view)->bytes.size());
  return values;
}

absl::StatusOr<const TensorView*> StateReader::Find(const std::string& name,
                                                    ElementKind element,
                                                    int64_t count) const {
  const TensorView* view = stored_.Find(name);
  if (view == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the saved state has no tensor ", name));
  }
  const std::size_t bytes = ElementBytes(element) * count;
  if (view->element != element || view->bytes.size() != bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("tensor ", name, " of the saved state must be ", count,
                     " ", std::string(ElementName(element)), " elements, got ",
                     view->bytes.size(), " bytes of ",
                     std::string(ElementName(view->element))));
  }
  return view;
}

}  // namespace flywheel
