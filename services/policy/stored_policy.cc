#include "services/policy/stored_policy.h"

#include <cstring>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "services/policy/safetensors.h"
#include "services/policy/snapshot_tensors.h"

namespace flywheel {
namespace {

constexpr std::string_view kPrefix = "policy/";

}  // namespace

absl::StatusOr<PolicySnapshotPtr> PolicyFromState(
    std::span<const std::byte> state, std::string_view kind,
    const std::function<uint32_t(std::span<const std::byte>)>& checksum) {
  const absl::StatusOr<Safetensors> stored = SafetensorsFromBytes(state);
  if (!stored.ok()) return stored.status();
  const TensorView* version = stored->Find("version");
  if (version == nullptr || version->element != ElementKind::kInt64 ||
      version->bytes.size() != sizeof(int64_t)) {
    return absl::InvalidArgumentError(
        "the state has no int64 tensor version with one element");
  }
  auto snapshot = std::make_shared<PolicySnapshot>();
  snapshot->kind = kind;
  std::memcpy(&snapshot->version.value, version->bytes.data(), sizeof(int64_t));
  snapshot->parent = snapshot->version.value - 1;
  for (const TensorView& tensor : stored->tensors) {
    if (!tensor.name.starts_with(kPrefix)) continue;
    if (tensor.element != ElementKind::kFloat32) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", tensor.name, " of the state is not float32"));
    }
    AppendTensor(tensor.name.substr(kPrefix.size()), tensor.shape, tensor.bytes,
                 *snapshot);
  }
  if (snapshot->tensors.empty()) {
    return absl::InvalidArgumentError("the state has no policy/... tensors");
  }
  if (checksum) snapshot->crc32c = checksum(snapshot->bytes);
  return PolicySnapshotPtr(std::move(snapshot));
}

}  // namespace flywheel
