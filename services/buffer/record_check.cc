#include "services/buffer/record_check.h"

#include <cmath>
#include <cstring>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

template <typename... Parts>
Rejection Corrupt(const Parts&... parts) {
  return {.reason = "corrupt", .message = absl::StrCat("record: ", parts...)};
}

// Element `index` of a column, whose bytes may lie anywhere.
template <typename T>
T Element(std::span<const std::byte> column, std::size_t index) {
  T value;
  std::memcpy(&value, column.data() + index * sizeof(T), sizeof(T));
  return value;
}

// The first element that is not finite; nullopt if all are.
template <typename T>
std::optional<std::size_t> FirstNotFinite(std::span<const std::byte> column) {
  for (std::size_t i = 0; i < column.size() / sizeof(T); ++i) {
    if (!std::isfinite(Element<T>(column, i))) return i;
  }
  return std::nullopt;
}

int FindScalar(const TrajectorySchema& schema, std::string_view name,
               ElementKind element, Granularity granularity) {
  const int index = schema.Find(name);
  if (index < 0) return -1;
  const ColumnSchema& column = schema.columns[index];
  const bool fits = column.element == element && column.shape.empty() &&
                    column.granularity == granularity && !column.ragged;
  return fits ? index : -1;
}

// Parse() says that bytes are wrong; a record of another schema may be sound.
Rejection ParseRejection(std::span<const std::byte> bytes, uint64_t schema_hash,
                         const absl::Status& status) {
  const absl::StatusOr<RecordHeader> header = RecordView::ParseHeader(bytes);
  const bool other_schema = header.ok() && header->schema_hash != schema_hash;
  return {.reason = other_schema ? "schema" : "corrupt",
          .message = std::string(status.message())};
}

std::optional<Rejection> CheckOwner(const RecordHeader& header,
                                    const ExpectedRecord& expected) {
  struct Field {
    std::string_view name;
    uint64_t value;
    uint64_t must_be;
  };
  const Credit& credit = expected.credit;
  for (const Field& field :
       {Field{"worker", header.worker, expected.worker},
        Field{"incarnation", header.incarnation, expected.incarnation},
        Field{"credit", header.credit, credit.id},
        Field{"environment", header.environment, credit.environment},
        Field{"deadline", static_cast<uint64_t>(header.deadline),
              static_cast<uint64_t>(credit.deadline)}}) {
    if (field.value == field.must_be) continue;
    return Corrupt(absl::string_view(field.name.data(), field.name.size()),
                   " must be ", field.must_be, " as of its credit, got ",
                   field.value);
  }
  return std::nullopt;
}

std::optional<Rejection> CheckVersions(const RecordHeader& header,
                                       const ExpectedRecord& expected) {
  if (expected.credit.kind != CreditKind::kTraining) return std::nullopt;
  if (header.behavior_version_min < expected.credit.version.value) {
    return Rejection{
        .reason = "stale",
        .message = absl::StrCat("record: behavior_version_min must be >= ",
                                expected.credit.version.value,
                                ", the version of credit ", expected.credit.id,
                                ", got ", header.behavior_version_min)};
  }
  if (header.behavior_version_max > expected.newest.value) {
    return Corrupt("behavior_version_max must be <= ", expected.newest.value,
                   ", the newest version there is, got ",
                   header.behavior_version_max);
  }
  return std::nullopt;
}

}  // namespace

RecordCheck::RecordCheck(TrajectorySchema schema)
    : schema_(std::move(schema)),
      schema_hash_(SchemaHash(schema_)),
      terminated_(FindScalar(schema_, column::kTerminated, ElementKind::kUint8,
                             Granularity::kStep)),
      truncated_(FindScalar(schema_, column::kTruncated, ElementKind::kUint8,
                            Granularity::kStep)),
      steps_executed_(FindScalar(schema_, column::kStepsExecuted,
                                 ElementKind::kInt32, Granularity::kChunk)),
      behavior_version_(FindScalar(schema_, column::kBehaviorVersion,
                                   ElementKind::kInt64, Granularity::kChunk)) {
  for (std::size_t i = 0; i < schema_.columns.size(); ++i) {
    const ColumnSchema& column = schema_.columns[i];
    const bool is_float = column.element == ElementKind::kFloat32 ||
                          column.element == ElementKind::kFloat64;
    if (is_float && !column.ragged) {
      float_columns_.push_back(static_cast<int>(i));
    }
  }
}

std::variant<RecordHeader, Rejection> RecordCheck::Check(
    std::span<const std::byte> bytes, const ExpectedRecord& expected) const {
  const absl::StatusOr<RecordView> view =
      RecordView::Parse(bytes, schema_, schema_hash_);
  if (!view.ok()) return ParseRejection(bytes, schema_hash_, view.status());
  if (auto wrong = CheckOwner(view->header(), expected)) return *wrong;
  if (auto wrong = CheckVersions(view->header(), expected)) return *wrong;
  if (auto wrong = CheckChunks(*view)) return *wrong;
  if (auto wrong = CheckEndings(*view)) return *wrong;
  if (auto wrong = CheckNumbers(*view)) return *wrong;
  return view->header();
}

bool RecordCheck::EndsEpisode(std::span<const std::byte> bytes) const {
  if (terminated_ < 0 || truncated_ < 0) return true;
  const absl::StatusOr<RecordView> view =
      RecordView::Parse(bytes, schema_, schema_hash_);
  if (!view.ok()) return false;
  const std::size_t last = view->header().num_steps - 1;
  return Element<uint8_t>(view->column(terminated_), last) != 0 ||
         Element<uint8_t>(view->column(truncated_), last) != 0;
}

std::optional<Rejection> RecordCheck::CheckNumbers(
    const RecordView& view) const {
  for (const int index : float_columns_) {
    const ColumnSchema& column = schema_.columns[index];
    const std::optional<std::size_t> wrong =
        column.element == ElementKind::kFloat32
            ? FirstNotFinite<float>(view.column(index))
            : FirstNotFinite<double>(view.column(index));
    if (!wrong.has_value()) continue;
    return Corrupt("column \"", column.name, "\": element ", *wrong,
                   " must be finite");
  }
  return std::nullopt;
}

// Only the last step can end an episode.
std::optional<Rejection> RecordCheck::CheckEndings(
    const RecordView& view) const {
  for (const int index : {terminated_, truncated_}) {
    if (index < 0) continue;
    for (uint32_t step = 0; step + 1 < view.header().num_steps; ++step) {
      if (Element<uint8_t>(view.column(index), step) == 0) continue;
      return Corrupt("column \"", schema_.columns[index].name, "\": step ",
                     step, " of ", view.header().num_steps,
                     " must be 0, as only the last may end an episode");
    }
  }
  return std::nullopt;
}

// Chunks have their steps and versions.
std::optional<Rejection> RecordCheck::CheckChunks(
    const RecordView& view) const {
  const RecordHeader& header = view.header();
  int64_t steps = 0;
  for (uint32_t chunk = 0; chunk < header.num_chunks; ++chunk) {
    if (steps_executed_ >= 0) {
      const auto executed =
          Element<int32_t>(view.column(steps_executed_), chunk);
      if (executed < 1) {
        return Corrupt("column \"steps_executed\": chunk ", chunk,
                       " must be >= 1, got ", executed);
      }
      steps += executed;
    }
    if (behavior_version_ >= 0) {
      const auto version =
          Element<int64_t>(view.column(behavior_version_), chunk);
      if (version < header.behavior_version_min ||
          version > header.behavior_version_max) {
        return Corrupt("column \"behavior_version\": chunk ", chunk,
                       " must be ", header.behavior_version_min, " to ",
                       header.behavior_version_max, ", got ", version);
      }
    }
  }
  if (steps_executed_ >= 0 && steps != header.num_steps) {
    return Corrupt("column \"steps_executed\": must add up to num_steps, ",
                   header.num_steps, ", got ", steps);
  }
  return std::nullopt;
}

}  // namespace flywheel
