#include "services/wire/message_bytes_codec.h"

#include <google/protobuf/unknown_field_set.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "services/core/status_macros.h"
#include "services/wire/message_checks.h"

namespace flywheel {

absl::Status ParseMessage(std::string_view type, std::string_view bytes,
                          google::protobuf::Message& message) {
  FLYWHEEL_RETURN_IF_ERROR(CheckMessageBytes(type, bytes.size()));
  // Else Protobuf prints a line for every text that is not UTF-8.
  const google::protobuf::LogSilencer silencer;
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(bytes.size(), " bytes are not a ",
                   absl::string_view(type.data(), type.size()), " message"));
}

absl::Status UnknownOneofError(std::string_view oneof,
                               const google::protobuf::Message& message) {
  constexpr int kMostNamed = 4;
  const google::protobuf::UnknownFieldSet& fields =
      message.GetReflection()->GetUnknownFields(message);
  std::string unknown;
  for (int i = 0; i < fields.field_count() && i < kMostNamed; ++i) {
    absl::StrAppend(&unknown, i == 0 ? ", got unknown field " : ", ",
                    fields.field(i).number());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(absl::string_view(oneof.data(), oneof.size()),
                   " must be one of the known messages",
                   unknown.empty() ? ", got none" : unknown));
}

}  // namespace flywheel
