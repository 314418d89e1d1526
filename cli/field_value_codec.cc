#include "cli/field_value_codec.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/strings/str_cat.h"
#include "cli/likely_name.h"
#include "cli/number_text.h"
#include "cli/text_checks.h"
#include "services/core/status_macros.h"
#include "services/wire/field_rule_codec.h"

namespace flywheel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The value as the error's last words.
std::string Got(const YamlNode& value) {
  switch (value.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kSequence:
      return value.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::kMap:
      return "a map of fields";
    case YamlNode::Kind::kScalar:
      break;
  }
  if (value.quoted) return absl::StrCat("the text ", Quoted(value.text));
  return NumberFromText(value.text) ? value.text : Quoted(value.text);
}

// Where a value goes, and the field's name in errors.
struct Target {
  const std::string& path;
  const FieldDescriptor& field;
  Message& message;
};

absl::Status MustBe(const Target& target, const YamlNode& value,
                    absl::string_view hint = "") {
  return absl::InvalidArgumentError(absl::StrCat(target.path, " must be ",
                                                 ExpectedValue(target.field),
                                                 ", got ", Got(value), hint));
}

// Set, or for a list appended to.
template <typename T, typename Set, typename Add>
absl::Status Store(const Target& target, T value, Set set, Add add) {
  const Reflection& reflection = *target.message.GetReflection();
  if (target.field.is_repeated()) {
    (reflection.*add)(&target.message, &target.field, std::move(value));
  } else {
    (reflection.*set)(&target.message, &target.field, std::move(value));
  }
  return absl::OkStatus();
}

template <typename T, typename Set, typename Add>
absl::Status StoreWhole(const Target& target, const YamlNode& value, Set set,
                        Add add) {
  constexpr T kMin = std::numeric_limits<T>::min();
  constexpr T kMax = std::numeric_limits<T>::max();
  const std::optional<absl::int128> number = WholeNumberFromText(value.text);
  if (!number) return MustBe(target, value);
  if (*number < kMin || *number > kMax) {
    const bool ruled = RuleOf(target.field).has_max();
    return MustBe(
        target, value,
        ruled ? "" : absl::StrCat("; it goes from ", kMin, " to ", kMax));
  }
  return Store(target, static_cast<T>(*number), set, add);
}

absl::Status StoreDouble(const Target& target, const YamlNode& value) {
  const std::optional<double> number = NumberFromText(value.text);
  if (!number) return MustBe(target, value);
  return Store(target, *number, &Reflection::SetDouble, &Reflection::AddDouble);
}

absl::Status StoreBool(const Target& target, const YamlNode& value) {
  const std::string& text = value.text;
  const bool yes = text == "true" || text == "True" || text == "TRUE";
  const bool no = text == "false" || text == "False" || text == "FALSE";
  if (!yes && !no) return MustBe(target, value);
  return Store(target, yes, &Reflection::SetBool, &Reflection::AddBool);
}

// One value; in a list, one of its items.
absl::Status StoreScalar(const Target& target, const YamlNode& value) {
  if (value.kind != YamlNode::Kind::kScalar) return MustBe(target, value);
  const FieldDescriptor::CppType type = target.field.cpp_type();
  if (type == FieldDescriptor::CPPTYPE_STRING) {
    return Store(target, value.text, &Reflection::SetString,
                 &Reflection::AddString);
  }
  if (value.quoted) return MustBe(target, value, " (without the quotes?)");
  switch (type) {
    case FieldDescriptor::CPPTYPE_INT32:
      return StoreWhole<int32_t>(target, value, &Reflection::SetInt32,
                                 &Reflection::AddInt32);
    case FieldDescriptor::CPPTYPE_INT64:
      return StoreWhole<int64_t>(target, value, &Reflection::SetInt64,
                                 &Reflection::AddInt64);
    case FieldDescriptor::CPPTYPE_UINT64:
      return StoreWhole<uint64_t>(target, value, &Reflection::SetUInt64,
                                  &Reflection::AddUInt64);
    case FieldDescriptor::CPPTYPE_BOOL:
      return StoreBool(target, value);
    default:
      return StoreDouble(target, value);
  }
}

absl::Status StoreAll(const Target& target, const YamlNode& value) {
  if (!target.field.is_repeated()) return StoreScalar(target, value);
  if (value.kind != YamlNode::Kind::kSequence || value.items.empty()) {
    return MustBe(target, value);
  }
  for (const YamlNode& item : value.items) {
    FLYWHEEL_RETURN_IF_ERROR(StoreScalar(target, item));
  }
  return absl::OkStatus();
}

// What a misspelled name of a list of names was meant to be.
std::string Hint(const FieldDescriptor& field, const YamlNode& value) {
  const v1::Rule& rule = RuleOf(field);
  const std::string likely =
      LikelyName(value.text, {rule.one_of().begin(), rule.one_of().end()});
  return likely.empty() ? "" : absl::StrCat("; did you mean \"", likely, "\"?");
}

}  // namespace

absl::Status SetField(const std::string& path, const FieldDescriptor& field,
                      const YamlNode& value, Message& message) {
  message.GetReflection()->ClearField(&message, &field);
  if (value.kind == YamlNode::Kind::kNull && RuleOf(field).may_be_unset()) {
    return absl::OkStatus();
  }
  FLYWHEEL_RETURN_IF_ERROR(StoreAll({path, field, message}, value));
  const absl::Status status = CheckRule(path, field, message);
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat(status.message(), Hint(field, value)));
}

}  // namespace flywheel
