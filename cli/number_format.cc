#include "cli/number_format.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace flywheel {
namespace {

constexpr char kNothing[] = "–";

// Without the zeros that "%.3g" would have left out, in plain digits.
std::string Plain(double value) {
  const double size = std::abs(value);
  const int decimals = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  std::string text = absl::StrFormat("%.*f", decimals, value);
  if (text.find('.') != std::string::npos) {
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text == "-0" ? "0" : text;
}

}  // namespace

std::string Grouped(int64_t value) {
  std::string text = absl::StrCat(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = text.size(); i > first + 3;) {
    i -= 3;
    text.insert(i, 1, ',');
  }
  return text;
}

std::string Compact(double value) {
  if (!std::isfinite(value)) return kNothing;
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size < 0.01 || size >= 999.5e12) return absl::StrFormat("%.3g", value);
  if (size >= 999.5e9) return Plain(value / 1e12) + "T";
  if (size >= 999.5e6) return Plain(value / 1e9) + "G";
  if (size >= 999.5e3) return Plain(value / 1e6) + "M";
  if (size >= 9999.5) return Plain(value / 1e3) + "k";
  return Plain(value);
}

std::string Duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e12) return kNothing;
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return absl::StrCat(whole, " s");
  if (whole < 3600) return absl::StrFormat("%d:%02d", whole / 60, whole % 60);
  return absl::StrFormat("%d:%02d:%02d", whole / 3600, whole / 60 % 60,
                         whole % 60);
}

std::string Percent(double share) {
  if (!std::isfinite(share)) return kNothing;
  const double percent = share * 100;
  const bool whole = std::abs(percent - std::round(percent)) < 0.05;
  return absl::StrFormat("%.*f %%", whole ? 0 : 1, percent);
}

}  // namespace flywheel
