#include "services/core/trajectory_schema.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace flywheel {
namespace {

constexpr std::size_t kMaxColumns = 256;
constexpr std::size_t kMaxNameBytes = 255;
constexpr std::size_t kMaxItemBytes = std::size_t{1} << 30;

absl::Status ValidateColumn(const ColumnSchema& column) {
  if (column.name.empty() || column.name.size() > kMaxNameBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("column name must have 1 to ", kMaxNameBytes,
                     " bytes, got ", column.name.size()));
  }
  if (column.element < ElementKind::kUint8 ||
      column.element > ElementKind::kFloat64) {
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column.name, "\": unknown element kind ",
                     static_cast<int>(column.element)));
  }
  if (column.granularity < Granularity::kStep ||
      column.granularity > Granularity::kTrajectory) {
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", column.name, "\": unknown granularity ",
                     static_cast<int>(column.granularity)));
  }
  std::size_t bytes = ElementBytes(column.element);
  for (const int64_t size : column.shape) {
    if (size < 1 || size > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column \"", column.name,
          "\": each size of shape must be 1 to 2147483647, got ", size));
    }
    bytes *= static_cast<std::size_t>(size);
    if (bytes > kMaxItemBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", column.name, "\": one item of shape [",
                       absl::StrJoin(column.shape, ", "), "] exceeds ",
                       kMaxItemBytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

// 64-bit FNV-1a, then a final mix so that short inputs spread over all bits.
uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) {
    hash ^= static_cast<uint8_t>(c);
    hash *= 0x100000001b3u;
  }
  hash ^= hash >> 33;
  hash *= 0xff51afd7ed558ccdu;
  hash ^= hash >> 33;
  return hash;
}

}  // namespace

std::size_t ElementBytes(ElementKind kind) {
  switch (kind) {
    case ElementKind::kUint8:
      return 1;
    case ElementKind::kInt32:
    case ElementKind::kFloat32:
      return 4;
    case ElementKind::kInt64:
    case ElementKind::kFloat64:
      return 8;
  }
  return 0;
}

std::string_view ElementName(ElementKind kind) {
  switch (kind) {
    case ElementKind::kUint8:
      return "uint8";
    case ElementKind::kInt32:
      return "int32";
    case ElementKind::kInt64:
      return "int64";
    case ElementKind::kFloat32:
      return "float32";
    case ElementKind::kFloat64:
      return "float64";
  }
  return "unknown";
}

std::size_t ColumnSchema::item_bytes() const {
  std::size_t bytes = ElementBytes(element);
  for (const int64_t size : shape) bytes *= static_cast<std::size_t>(size);
  return bytes;
}

int TrajectorySchema::Find(std::string_view name) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(),
                   [&](const ColumnSchema& c) { return c.name == name; });
  return found == columns.end() ? -1
                                : static_cast<int>(found - columns.begin());
}

absl::Status ValidateSchema(const TrajectorySchema& schema) {
  if (schema.columns.empty() || schema.columns.size() > kMaxColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat("a schema must have 1 to ", kMaxColumns, " columns, got ",
                     schema.columns.size()));
  }
  std::set<std::string_view> names;
  for (const ColumnSchema& column : schema.columns) {
    if (absl::Status status = ValidateColumn(column); !status.ok()) {
      return status;
    }
    if (!names.insert(column.name).second) {
      return absl::InvalidArgumentError(absl::StrCat(
          "column name \"", column.name, "\" must be unique in its schema"));
    }
  }
  return absl::OkStatus();
}

uint64_t SchemaHash(const TrajectorySchema& schema) {
  std::string text = "flywheel trajectory schema 1\n";
  for (const ColumnSchema& column : schema.columns) {
    // The name's length goes first, so that no name can imitate a separator.
    absl::StrAppend(&text, column.name.size(), ":", column.name, " ",
                    static_cast<int>(column.element), " [",
                    absl::StrJoin(column.shape, ","), "] ",
                    static_cast<int>(column.granularity), " ",
                    column.ragged ? 1 : 0, "\n");
  }
  return HashText(text);
}

}  // namespace flywheel
