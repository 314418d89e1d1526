#pragma once

#include <google/protobuf/message.h>

#include <string_view>

#include "absl/status/status.h"

namespace flywheel {

// Parses `bytes` into `message`. InvalidArgument, naming `type`, if there are
// too many or they are not such a message.
absl::Status ParseMessage(std::string_view type, std::string_view bytes,
                          google::protobuf::Message& message);

// InvalidArgument for a `oneof` in which nothing known is set, with the numbers
// of the unknown fields that a newer sender may have meant.
absl::Status UnknownOneofError(std::string_view oneof,
                               const google::protobuf::Message& message);

}  // namespace flywheel
