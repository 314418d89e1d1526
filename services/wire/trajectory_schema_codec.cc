#include "services/wire/trajectory_schema_codec.h"

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

// The enums have the same numbers in core, in the messages and in the schema
// hash, so a cast converts and ValidateSchema() checks them.
static_assert(static_cast<int>(ElementKind::kUint8) == v1::ELEMENT_KIND_UINT8);
static_assert(static_cast<int>(ElementKind::kInt32) == v1::ELEMENT_KIND_INT32);
static_assert(static_cast<int>(ElementKind::kInt64) == v1::ELEMENT_KIND_INT64);
static_assert(static_cast<int>(ElementKind::kFloat32) ==
              v1::ELEMENT_KIND_FLOAT32);
static_assert(static_cast<int>(ElementKind::kFloat64) ==
              v1::ELEMENT_KIND_FLOAT64);
static_assert(static_cast<int>(Granularity::kStep) == v1::GRANULARITY_STEP);
static_assert(static_cast<int>(Granularity::kChunk) == v1::GRANULARITY_CHUNK);
static_assert(static_cast<int>(Granularity::kFinal) == v1::GRANULARITY_FINAL);
static_assert(static_cast<int>(Granularity::kTrajectory) ==
              v1::GRANULARITY_TRAJECTORY);

constexpr int kMaxColumns = 256;
constexpr int kMaxDimensions = 16;

absl::Status SchemaError(std::string_view field, absl::string_view rule) {
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(field.data(), field.size()), ": ", rule));
}

// A number that does not fit the enum would wrap around in a cast.
bool FitsEnum(int number) { return number >= 0 && number <= 255; }

}  // namespace

v1::TrajectorySchema TrajectorySchemaToProto(const TrajectorySchema& schema) {
  v1::TrajectorySchema message;
  for (const ColumnSchema& column : schema.columns) {
    v1::ColumnSchema* added = message.add_columns();
    added->set_name(column.name);
    added->set_element(static_cast<v1::ElementKind>(column.element));
    added->mutable_shape()->Assign(column.shape.begin(), column.shape.end());
    added->set_granularity(static_cast<v1::Granularity>(column.granularity));
    added->set_ragged(column.ragged);
  }
  return message;
}

absl::StatusOr<TrajectorySchema> TrajectorySchemaFromProto(
    std::string_view field, const v1::TrajectorySchema& message) {
  if (message.columns_size() > kMaxColumns) {
    return SchemaError(
        field, absl::StrCat("must have at most ", kMaxColumns, " columns, got ",
                            message.columns_size()));
  }
  TrajectorySchema schema;
  schema.columns.reserve(message.columns_size());
  for (const v1::ColumnSchema& column : message.columns()) {
    if (!FitsEnum(column.element()) || !FitsEnum(column.granularity())) {
      return SchemaError(
          field, absl::StrCat("column \"", column.name(),
                              "\": unknown element kind ", column.element(),
                              " or granularity ", column.granularity()));
    }
    if (column.shape_size() > kMaxDimensions) {
      return SchemaError(
          field, absl::StrCat("column \"", column.name(),
                              "\": shape must have at most ", kMaxDimensions,
                              " dimensions, got ", column.shape_size()));
    }
    schema.columns.push_back(
        {.name = column.name(),
         .element = static_cast<ElementKind>(column.element()),
         .shape = {column.shape().begin(), column.shape().end()},
         .granularity = static_cast<Granularity>(column.granularity()),
         .ragged = column.ragged()});
  }
  if (const absl::Status status = ValidateSchema(schema); !status.ok()) {
    return SchemaError(field, status.message());
  }
  return schema;
}

}  // namespace flywheel
