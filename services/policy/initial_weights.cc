#include "services/policy/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "services/core/keyed_random.h"

namespace flywheel {
namespace {

// Above this size orthonormalizing takes seconds, and independent normal
// columns are nearly orthogonal by themselves.
constexpr int64_t kOrthogonalMax = 1024;

uint64_t KeyOf(uint64_t seed, std::string_view name) {
  uint64_t key = MixBits(seed);
  for (const char c : name) {
    key = MixBits(key ^ static_cast<unsigned char>(c));
  }
  return key;
}

double Dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Gram and Schmidt, modified: `vectors` are `count` rows of `size`.
void Orthonormalize(std::vector<double>& vectors, int64_t count, int64_t size) {
  for (int64_t i = 0; i < count; ++i) {
    const std::span<double> row(&vectors[i * size], size);
    for (int64_t j = 0; j < i; ++j) {
      const std::span<const double> other(&vectors[j * size], size);
      const double share = Dot(row, other);
      for (int64_t k = 0; k < size; ++k) row[k] -= share * other[k];
    }
    const double norm = std::sqrt(Dot(row, row));
    for (double& x : row) x /= norm;
  }
}

}  // namespace

torch::Tensor InitialWeights::Normal(std::string_view name,
                                     torch::IntArrayRef shape,
                                     double std) const {
  torch::Tensor tensor = torch::empty(shape, torch::kFloat32);
  const std::span<float> numbers(tensor.data_ptr<float>(), tensor.numel());
  FillNormal(KeyOf(seed_, name), numbers);
  for (float& x : numbers) x = static_cast<float>(x * std);
  return tensor;
}

torch::Tensor InitialWeights::Orthogonal(std::string_view name, int64_t rows,
                                         int64_t columns, double gain) const {
  const int64_t count = std::min(rows, columns);
  const int64_t size = std::max(rows, columns);
  if (count > kOrthogonalMax) {
    return Normal(name, {rows, columns}, gain / std::sqrt(size));
  }
  const torch::Tensor normal = Normal(name, {count, size}, 1.0);
  const float* numbers = normal.data_ptr<float>();
  std::vector<double> vectors(numbers, numbers + count * size);
  Orthonormalize(vectors, count, size);
  torch::Tensor matrix = torch::empty({count, size}, torch::kFloat32);
  std::transform(vectors.begin(), vectors.end(), matrix.data_ptr<float>(),
                 [gain](double x) { return static_cast<float>(x * gain); });
  return rows <= columns ? matrix : matrix.t().contiguous();
}

}  // namespace flywheel
