#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "services/core/trajectory_schema.h"

namespace flywheel {

// A named array and where its bytes lie; the bytes belong to someone else.
struct TensorView {
  std::string name;
  ElementKind element = ElementKind::kFloat32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;
};

// The safetensors format: u64 length of a JSON header, the header, the tensors'
// bytes. Tensors lie in the order given, at 64-byte aligned places as far as
// their sizes are multiples of 64 bytes.
std::vector<std::byte> SafetensorsBytes(
    std::span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata = {});

struct Safetensors {
  std::vector<TensorView> tensors;  // Views of the bytes that were read.
  std::map<std::string, std::string> metadata;

  // Null if there is none of that name.
  const TensorView* Find(std::string_view name) const;
};

// Reads any bytes safely. Returns InvalidArgument with the rule that is broken:
// a header longer than 100 MB or than the bytes, not an object, with unknown
// fields, duplicate names, an element type we do not have, ranges that do not
// match the shapes or do not tile the data exactly, metadata that is no text.
absl::StatusOr<Safetensors> SafetensorsFromBytes(
    std::span<const std::byte> bytes);

}  // namespace flywheel
