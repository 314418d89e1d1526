#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "services/wire/data_messages.h"

namespace flywheel {

// The messages of buffer.proto, as they travel. Each ...FromBytes() checks
// everything a receiver relies on and returns InvalidArgument naming the field,
// the rule and the value.
std::string ToBufferBytes(const ToBuffer& message);
absl::StatusOr<ToBuffer> ToBufferFromBytes(std::string_view bytes);

std::string FromBufferBytes(const FromBuffer& message);
absl::StatusOr<FromBuffer> FromBufferFromBytes(std::string_view bytes);

}  // namespace flywheel
