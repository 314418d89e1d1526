#include "cli/number_text.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

namespace flywheel {
namespace {

constexpr int kDigitsMax = 30;

// A decimal number taken apart: (-1)^negative · digits · 10^exponent.
struct Decimal {
  bool negative = false;
  std::string digits;
  int exponent = 0;
};

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Moves digits from the front of `text` to the back of `digits`. An underscore
// may stand between two digits.
int TakeDigits(std::string_view& text, std::string& digits) {
  int count = 0;
  while (!text.empty()) {
    const bool separates =
        text[0] == '_' && count > 0 && text.size() > 1 && IsDigit(text[1]);
    if (!separates && !IsDigit(text[0])) break;
    if (!separates) {
      digits.push_back(text[0]);
      ++count;
    }
    text.remove_prefix(1);
  }
  return count;
}

bool TakeSign(std::string_view& text) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  return negative;
}

// False if `text` is not an exponent: at most four digits.
bool TakeExponent(std::string_view& text, int& exponent) {
  text.remove_prefix(1);
  const bool negative = TakeSign(text);
  std::string digits;
  const int count = TakeDigits(text, digits);
  if (count == 0 || count > 4) return false;
  exponent = negative ? -std::stoi(digits) : std::stoi(digits);
  return true;
}

std::optional<Decimal> DecimalFromText(std::string_view text) {
  Decimal decimal;
  decimal.negative = TakeSign(text);
  int count = TakeDigits(text, decimal.digits);
  int fraction = 0;
  if (!text.empty() && text[0] == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(text, decimal.digits);
  }
  if (count + fraction == 0) return std::nullopt;
  if (!text.empty() && (text[0] == 'e' || text[0] == 'E') &&
      !TakeExponent(text, decimal.exponent)) {
    return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  decimal.exponent -= fraction;
  return decimal;
}

// Without zeros at either end, so that digits times a power of ten are whole
// exactly if the power is not negative.
void Normalize(Decimal& decimal) {
  const std::size_t first = decimal.digits.find_first_not_of('0');
  if (first == std::string::npos) {
    decimal = {};
    return;
  }
  decimal.digits.erase(0, first);
  while (decimal.digits.back() == '0') {
    decimal.digits.pop_back();
    ++decimal.exponent;
  }
}

}  // namespace

std::optional<absl::int128> WholeNumberFromText(std::string_view text) {
  std::optional<Decimal> decimal = DecimalFromText(text);
  if (!decimal) return std::nullopt;
  Normalize(*decimal);
  const auto size = static_cast<int>(decimal->digits.size());
  if (decimal->exponent < 0 || size + decimal->exponent > kDigitsMax) {
    return std::nullopt;
  }
  absl::int128 value = 0;
  for (const char digit : decimal->digits) value = value * 10 + (digit - '0');
  for (int i = 0; i < decimal->exponent; ++i) value *= 10;
  return decimal->negative ? -value : value;
}

std::optional<double> NumberFromText(std::string_view text) {
  if (!DecimalFromText(text)) return std::nullopt;
  std::string plain;
  for (const char c : text) {
    if (c != '_') plain.push_back(c);
  }
  if (plain[0] == '+') plain.erase(0, 1);
  double value = 0;
  const auto [end, error] =
      std::from_chars(plain.data(), plain.data() + plain.size(), value);
  // Too small to be told from 0 is 0; too large is no number of ours.
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(plain.c_str(), nullptr);
  }
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace flywheel
