#include "services/policy/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "services/policy/safetensors_header.h"

namespace flywheel {
namespace {

constexpr uint64_t kHeaderBytesMax = 100'000'000;
constexpr std::size_t kAlignment = 64;

struct ElementCode {
  ElementKind kind;
  std::string_view code;
};
constexpr ElementCode kElementCodes[] = {{ElementKind::kUint8, "U8"},
                                         {ElementKind::kInt32, "I32"},
                                         {ElementKind::kInt64, "I64"},
                                         {ElementKind::kFloat32, "F32"},
                                         {ElementKind::kFloat64, "F64"}};

std::string CodeOf(ElementKind kind) {
  for (const ElementCode& element : kElementCodes) {
    if (element.kind == kind) return std::string(element.code);
  }
  return "";
}

std::optional<ElementKind> KindOf(std::string_view code) {
  for (const ElementCode& element : kElementCodes) {
    if (element.code == code) return element.kind;
  }
  return std::nullopt;
}

absl::Status Broken(const std::string& name, const std::string& rule) {
  return absl::InvalidArgumentError(
      absl::StrCat("safetensors tensor ", name, ": ", rule));
}

// Bytes of the shape; nullopt on overflow.
std::optional<uint64_t> BytesOf(const std::vector<uint64_t>& shape,
                                ElementKind kind) {
  uint64_t bytes = ElementBytes(kind);
  for (const uint64_t size : shape) {
    if (size > uint64_t{1} << 48) return std::nullopt;
    if (size != 0 && bytes > (uint64_t{1} << 62) / size) return std::nullopt;
    bytes *= size;
  }
  return bytes;
}

absl::StatusOr<TensorView> ViewOf(const SafetensorsEntry& entry,
                                  std::span<const std::byte> data) {
  const std::optional<ElementKind> kind = KindOf(entry.element);
  if (!kind.has_value()) {
    return Broken(entry.name, absl::StrCat("element type ", entry.element,
                                           " is none of U8, I32, I64, F32, "
                                           "F64"));
  }
  if (entry.range.size() != 2 || entry.range[0] > entry.range[1] ||
      entry.range[1] > data.size()) {
    return Broken(entry.name,
                  absl::StrCat("bytes [", absl::StrJoin(entry.range, ", "),
                               "] are no range within ", data.size()));
  }
  const std::optional<uint64_t> bytes = BytesOf(entry.shape, *kind);
  const uint64_t length = entry.range[1] - entry.range[0];
  if (!bytes.has_value() || *bytes != length) {
    return Broken(
        entry.name,
        absl::StrCat("shape [", absl::StrJoin(entry.shape, ", "), "] of ",
                     entry.element, " does not take ", length, " bytes"));
  }
  return TensorView{.name = entry.name,
                    .element = *kind,
                    .shape = {entry.shape.begin(), entry.shape.end()},
                    .bytes = data.subspan(entry.range[0], length)};
}

// Every byte of the data belongs to exactly one tensor.
absl::Status CheckTiling(const std::vector<SafetensorsEntry>& entries,
                         uint64_t data_bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> ranges;
  for (const SafetensorsEntry& entry : entries) {
    ranges.emplace_back(entry.range[0], entry.range[1]);
  }
  std::sort(ranges.begin(), ranges.end());
  uint64_t end = 0;
  for (const auto& [first, last] : ranges) {
    if (first != end) {
      return absl::InvalidArgumentError(
          absl::StrCat("safetensors data: a tensor begins at byte ", first,
                       " where ", end, " was to be next"));
    }
    end = last;
  }
  if (end != data_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("safetensors data: ", data_bytes, " bytes, of which ",
                     data_bytes - end, " belong to no tensor"));
  }
  return absl::OkStatus();
}

std::string HeaderText(std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> fields;
  if (!metadata.empty()) {
    fields.push_back(absl::StrCat(
        "\"__metadata__\":{",
        absl::StrJoin(metadata, ",",
                      [](std::string* out, const auto& entry) {
                        absl::StrAppend(out, JsonQuoted(entry.first), ":",
                                        JsonQuoted(entry.second));
                      }),
        "}"));
  }
  uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    fields.push_back(absl::StrCat(JsonQuoted(tensor.name), ":{\"dtype\":\"",
                                  CodeOf(tensor.element), "\",\"shape\":[",
                                  absl::StrJoin(tensor.shape, ","),
                                  "],\"data_offsets\":[", offset, ",",
                                  offset + tensor.bytes.size(), "]}"));
    offset += tensor.bytes.size();
  }
  std::string text = absl::StrCat("{", absl::StrJoin(fields, ","), "}");
  // Padded so that the data begins at an aligned place.
  const std::size_t used = sizeof(uint64_t) + text.size();
  text.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  return text;
}

}  // namespace

const TensorView* Safetensors::Find(std::string_view name) const {
  for (const TensorView& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::vector<std::byte> SafetensorsBytes(
    std::span<const TensorView> tensors,
    const std::map<std::string, std::string>& metadata) {
  const std::string header = HeaderText(tensors, metadata);
  std::size_t total = sizeof(uint64_t) + header.size();
  for (const TensorView& tensor : tensors) total += tensor.bytes.size();

  std::vector<std::byte> bytes;
  bytes.reserve(total);
  for (std::size_t i = 0; i < sizeof(uint64_t); ++i) {
    bytes.push_back(static_cast<std::byte>(header.size() >> (8 * i)));
  }
  const auto text = std::as_bytes(std::span(header));
  bytes.insert(bytes.end(), text.begin(), text.end());
  for (const TensorView& tensor : tensors) {
    bytes.insert(bytes.end(), tensor.bytes.begin(), tensor.bytes.end());
  }
  return bytes;
}

absl::StatusOr<Safetensors> SafetensorsFromBytes(
    std::span<const std::byte> bytes) {
  if (bytes.size() < sizeof(uint64_t)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "safetensors: at least 8 bytes are needed, got ", bytes.size()));
  }
  uint64_t header_bytes = 0;
  for (std::size_t i = 0; i < sizeof(uint64_t); ++i) {
    header_bytes |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  }
  const std::span<const std::byte> rest = bytes.subspan(sizeof(uint64_t));
  if (header_bytes > kHeaderBytesMax || header_bytes > rest.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "safetensors: a header of ", header_bytes,
        " bytes must be at most 100000000 and fit into ", rest.size()));
  }
  const std::string_view text(reinterpret_cast<const char*>(rest.data()),
                              header_bytes);
  absl::StatusOr<SafetensorsHeader> header = ParseSafetensorsHeader(text);
  if (!header.ok()) return header.status();

  const std::span<const std::byte> data = rest.subspan(header_bytes);
  Safetensors result{.metadata = std::move(header->metadata)};
  for (const SafetensorsEntry& entry : header->entries) {
    absl::StatusOr<TensorView> view = ViewOf(entry, data);
    if (!view.ok()) return view.status();
    result.tensors.push_back(*std::move(view));
  }
  const absl::Status tiling = CheckTiling(header->entries, data.size());
  if (!tiling.ok()) return tiling;
  return result;
}

}  // namespace flywheel
