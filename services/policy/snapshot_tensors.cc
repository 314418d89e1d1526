#include "services/policy/snapshot_tensors.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flywheel {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

const SnapshotTensor* FindTensor(const PolicySnapshot& snapshot,
                                 std::string_view name) {
  const auto found = std::find_if(
      snapshot.tensors.begin(), snapshot.tensors.end(),
      [&](const SnapshotTensor& tensor) { return tensor.name == name; });
  return found == snapshot.tensors.end() ? nullptr : &*found;
}

absl::Status CopyTensor(const PolicySnapshot& snapshot, std::string_view name,
                        std::span<const int64_t> shape, float* target) {
  const SnapshotTensor* source = FindTensor(snapshot, name);
  if (source == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the snapshot has no tensor ", std::string(name)));
  }
  if (!std::equal(shape.begin(), shape.end(), source->shape.begin(),
                  source->shape.end())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", source->name, " must be [", absl::StrJoin(shape, ", "),
        "], the snapshot's is [", absl::StrJoin(source->shape, ", "), "]"));
  }
  std::size_t bytes = sizeof(float);
  for (const int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  const std::size_t available = snapshot.bytes.size();
  if (source->offset > available || available - source->offset < bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor ", source->name, " of ", bytes, " bytes at offset ",
        source->offset, " lies outside the snapshot's ", available, " bytes"));
  }
  if (bytes > 0) {
    std::memcpy(target, snapshot.bytes.data() + source->offset, bytes);
  }
  return absl::OkStatus();
}

void AppendTensor(const std::string& name, std::span<const int64_t> shape,
                  std::span<const std::byte> bytes, PolicySnapshot& snapshot) {
  const std::size_t offset =
      (snapshot.bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  snapshot.bytes.resize(offset);
  snapshot.bytes.insert(snapshot.bytes.end(), bytes.begin(), bytes.end());
  snapshot.tensors.push_back(
      {.name = name, .shape = {shape.begin(), shape.end()}, .offset = offset});
}

}  // namespace flywheel
