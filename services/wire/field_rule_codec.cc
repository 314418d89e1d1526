#include "services/wire/field_rule_codec.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/core/status_macros.h"

namespace flywheel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Longer texts are cut in errors, so that they stay one line.
constexpr std::size_t kShownBytes = 80;

// All the digits of a whole number, else the shortest that read back the same.
std::string NumberText(double value) {
  if (std::abs(value) <= 1e15 && std::floor(value) == value) {
    return absl::StrCat(static_cast<int64_t>(value));
  }
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

std::string TextInQuotes(const std::string& text) {
  return absl::StrCat("\"", absl::CHexEscape(text.substr(0, kShownBytes)),
                      text.size() > kShownBytes ? "…" : "", "\"");
}

bool IsText(const FieldDescriptor& field) {
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING;
}

bool IsNumber(const FieldDescriptor& field) {
  return !IsText(field) && field.cpp_type() != FieldDescriptor::CPPTYPE_BOOL;
}

// One value of a field; `index` is -1 where it is no list.
struct Value {
  const Message& message;
  const FieldDescriptor& field;
  int index;

  double Number() const {
    const Reflection& r = *message.GetReflection();
    const FieldDescriptor* f = &field;
    const bool one = index < 0;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT32:
        return one ? r.GetInt32(message, f)
                   : r.GetRepeatedInt32(message, f, index);
      case FieldDescriptor::CPPTYPE_INT64:
        return static_cast<double>(one ? r.GetInt64(message, f)
                                       : r.GetRepeatedInt64(message, f, index));
      case FieldDescriptor::CPPTYPE_UINT64:
        return static_cast<double>(
            one ? r.GetUInt64(message, f)
                : r.GetRepeatedUInt64(message, f, index));
      default:
        return one ? r.GetDouble(message, f)
                   : r.GetRepeatedDouble(message, f, index);
    }
  }

  std::string Text() const {
    const Reflection& r = *message.GetReflection();
    return index < 0 ? r.GetString(message, &field)
                     : r.GetRepeatedString(message, &field, index);
  }
};

std::string ExpectedScalar(const FieldDescriptor& field) {
  const v1::Rule& rule = RuleOf(field);
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) return "true or false";
  if (IsText(field)) {
    return rule.one_of().empty()
               ? "a text"
               : absl::StrCat(rule.one_of_size() > 1 ? "one of " : "", "\"",
                              absl::StrJoin(rule.one_of(), "\", \""), "\"");
  }
  const bool whole = field.cpp_type() != FieldDescriptor::CPPTYPE_DOUBLE;
  return absl::StrCat(
      whole ? "a whole number" : "a finite number",
      rule.has_min() ? absl::StrCat(rule.has_max() ? " from " : " of at least ",
                                    NumberText(rule.min()))
                     : "",
      rule.has_max() ? absl::StrCat(rule.has_min() ? " to " : " of at most ",
                                    NumberText(rule.max()))
                     : "");
}

absl::Status MustBe(const std::string& path, const FieldDescriptor& field,
                    const std::string& got) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " must be ", ExpectedValue(field), ", got ", got));
}

absl::Status CheckValue(const std::string& path, const Value& value) {
  const v1::Rule& rule = RuleOf(value.field);
  if (IsNumber(value.field)) {
    const double number = value.Number();
    const bool fits = std::isfinite(number) &&
                      !(rule.has_min() && number < rule.min()) &&
                      !(rule.has_max() && number > rule.max());
    return fits ? absl::OkStatus()
                : MustBe(path, value.field, NumberText(number));
  }
  if (!IsText(value.field) || rule.one_of().empty()) return absl::OkStatus();
  const std::string text = value.Text();
  const bool allowed = std::find(rule.one_of().begin(), rule.one_of().end(),
                                 text) != rule.one_of().end();
  return allowed ? absl::OkStatus()
                 : MustBe(path, value.field, TextInQuotes(text));
}

template <typename T>
T Parsed(absl::string_view text) {
  T value{};
  if constexpr (std::is_floating_point_v<T>) {
    static_cast<void>(absl::SimpleAtod(text, &value));
  } else {
    static_cast<void>(absl::SimpleAtoi(text, &value));
  }
  return value;
}

// "[64, 64]"
std::vector<int32_t> ListFromText(absl::string_view text) {
  absl::ConsumePrefix(&text, "[");
  absl::ConsumeSuffix(&text, "]");
  std::vector<int32_t> values;
  for (const absl::string_view item :
       absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    values.push_back(Parsed<int32_t>(item));
  }
  return values;
}

}  // namespace

const v1::Rule& RuleOf(const FieldDescriptor& field) {
  return field.options().GetExtension(v1::rule);
}

bool IsGiven(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  return field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                             : reflection.HasField(message, &field);
}

std::string ExpectedValue(const FieldDescriptor& field) {
  return field.is_repeated()
             ? absl::StrCat("a list, such as ", RuleOf(field).default_value(),
                            ", each item ", ExpectedScalar(field))
             : ExpectedScalar(field);
}

void SetDefault(const FieldDescriptor& field, Message& message) {
  const Reflection& reflection = *message.GetReflection();
  const std::string& text = RuleOf(field).default_value();
  if (field.is_repeated()) {
    for (const int32_t value : ListFromText(text)) {
      reflection.AddInt32(&message, &field, value);
    }
    return;
  }
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(&message, &field, Parsed<int32_t>(text));
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, Parsed<int64_t>(text));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, &field, Parsed<uint64_t>(text));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.SetDouble(&message, &field, Parsed<double>(text));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, text == "true");
    default:
      return reflection.SetString(&message, &field, text);
  }
}

absl::Status CheckRule(const std::string& path, const FieldDescriptor& field,
                       const Message& message) {
  if (!field.is_repeated()) {
    return CheckValue(path, {.message = message, .field = field, .index = -1});
  }
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    FLYWHEEL_RETURN_IF_ERROR(
        CheckValue(path, {.message = message, .field = field, .index = i}));
  }
  return absl::OkStatus();
}

}  // namespace flywheel
