#include "cli/job_yaml_codec.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cctype>
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "services/wire/field_rule_codec.h"

namespace flywheel {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The shortest digits that read back to the same number; without an exponent
// where people would write none.
std::string DoubleText(double value) {
  char buffer[64];
  const double size = std::abs(value);
  const bool plain = size == 0 || (size >= 1e-6 && size < 1e15);
  const auto result = std::to_chars(
      buffer, buffer + sizeof(buffer), value,
      plain ? std::chars_format::fixed : std::chars_format::scientific);
  return std::string(buffer, result.ptr);
}

// Plain where YAML surely reads it as the same text, else in quotes.
std::string TextValue(const std::string& text) {
  constexpr char kPlain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_/.:";
  const bool plain =
      !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) &&
      text.find_first_not_of(kPlain) == std::string::npos &&
      text.back() != ':' && text != "null" && text != "Null" && text != "NULL";
  if (plain) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(&quoted, "\\", std::string(1, c));
    } else if (static_cast<unsigned char>(c) < 0x20) {
      absl::StrAppendFormat(&quoted, "\\x%02x", c);
    } else {
      quoted.push_back(c);
    }
  }
  return quoted + "\"";
}

// `index` is -1 for a field that is no list.
std::string ValueText(const Message& message, const FieldDescriptor& field,
                      int index) {
  const Reflection& r = *message.GetReflection();
  const bool one = index < 0;
  const FieldDescriptor* f = &field;
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(one ? r.GetInt32(message, f)
                              : r.GetRepeatedInt32(message, f, index));
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(one ? r.GetInt64(message, f)
                              : r.GetRepeatedInt64(message, f, index));
    case FieldDescriptor::CPPTYPE_UINT64:
      return absl::StrCat(one ? r.GetUInt64(message, f)
                              : r.GetRepeatedUInt64(message, f, index));
    case FieldDescriptor::CPPTYPE_BOOL:
      return (one ? r.GetBool(message, f)
                  : r.GetRepeatedBool(message, f, index))
                 ? "true"
                 : "false";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return DoubleText(one ? r.GetDouble(message, f)
                            : r.GetRepeatedDouble(message, f, index));
    default:
      return TextValue(one ? r.GetString(message, f)
                           : r.GetRepeatedString(message, f, index));
  }
}

std::string ListText(const Message& message, const FieldDescriptor& field) {
  std::string text = "[";
  const int size = message.GetReflection()->FieldSize(message, &field);
  for (int i = 0; i < size; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ValueText(message, field, i));
  }
  return text + "]";
}

void Append(const Message& message, const std::string& indent,
            std::string& out) {
  const google::protobuf::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!IsGiven(message, field)) continue;
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      std::string section;
      Append(message.GetReflection()->GetMessage(message, &field),
             indent + "  ", section);
      if (section.empty()) continue;
      absl::StrAppend(&out, indent, field.name(), ":\n", section);
      continue;
    }
    absl::StrAppend(&out, indent, field.name(), ": ",
                    FieldToYaml(message, field), "\n");
  }
}

}  // namespace

std::string FieldToYaml(const Message& message, const FieldDescriptor& field) {
  return field.is_repeated() ? ListText(message, field)
                             : ValueText(message, field, -1);
}

std::string JobToYaml(const v1::JobSpec& job) {
  std::string text;
  Append(job, "", text);
  return text;
}

}  // namespace flywheel
