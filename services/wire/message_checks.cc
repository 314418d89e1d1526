#include "services/wire/message_checks.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace flywheel {
namespace {

absl::string_view Abseil(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

absl::Status CheckMessageBytes(std::string_view message, std::size_t size) {
  if (size <= kMaxMessageBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Abseil(message), " must have at most ", kMaxMessageBytes,
                   " bytes, got ", size));
}

absl::Status CheckAtLeast(std::string_view field, int64_t value, int64_t min) {
  if (value >= min) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Abseil(field), " must be >= ", min, ", got ", value));
}

absl::Status CheckRange(std::string_view field, uint64_t value, uint64_t min,
                        uint64_t max) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Abseil(field), " must be ", min, " to ", max, ", got ", value));
}

absl::Status CheckRepeated(std::string_view field, std::size_t size) {
  if (size <= kMaxRepeated) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Abseil(field), " must have at most ", kMaxRepeated,
                   " values, got ", size));
}

absl::Status CheckAmount(std::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      Abseil(field), " must be finite and not negative, got ", value));
}

absl::Status CheckTextBytes(std::string_view field, std::string_view text) {
  if (text.size() <= kMaxTextBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(Abseil(field), " must have at most ", kMaxTextBytes,
                   " bytes, got ", text.size()));
}

}  // namespace flywheel
