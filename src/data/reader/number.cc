#include "data/reader/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>

namespace thalweg {
namespace {

constexpr std::array<std::uint64_t, 9> kPowers = {1,      10,      100,      1000,     10000,
                                                  100000, 1000000, 10000000, 100000000};

// Up to seven digits, then perhaps a point and up to seven more; null if p is followed by anything else. Both
// parts of the quotient are exact, so it is rounded once, like from_chars' result.
const char* parse_short_real(const char* p, const char* end, double& value) {
  const bool negative = *p == '-';
  const EightDigits whole = eight_digits(p + (negative ? 1 : 0));
  if (whole.count - 1 > 6) return nullptr;
  p += whole.count + (negative ? 1 : 0);
  value = static_cast<double>(whole.value);
  if (*p == '.') {
    const EightDigits part = eight_digits(p + 1);
    if (part.count - 1 > 6) return nullptr;
    const std::uint64_t power = kPowers[part.count];
    value = static_cast<double>(whole.value * power + part.value) / static_cast<double>(power);
    p += 1 + part.count;
  }
  if (negative) value = -value;
  return p == end || *p == ' ' || *p == '\n' || *p == ':' || *p == '\r' ? p : nullptr;
}

}  // namespace

const char* parse_unsigned(const char* p, std::uint64_t& value, bool& overflow) {
  overflow = false;
  value = 0;
  for (unsigned digits = 0;; digits += 8) {
    const EightDigits next = eight_digits(p);
    if (next.count == 0) return digits == 0 ? nullptr : p;
    std::uint64_t scaled = 0;
    if (__builtin_mul_overflow(value, kPowers[next.count], &scaled) ||
        __builtin_add_overflow(scaled, next.value, &value)) {
      overflow = true;
      return nullptr;
    }
    p += next.count;
    if (next.count < 8) return p;
  }
}

const char* parse_signed(const char* p, std::int64_t& value) {
  const bool negative = *p == '-';
  std::uint64_t size = 0;
  bool overflow = false;
  const char* end = parse_unsigned(p + ((negative || *p == '+') ? 1 : 0), size, overflow);
  if (end == nullptr || size > static_cast<std::uint64_t>(INT64_MAX)) return nullptr;
  value = negative ? -static_cast<std::int64_t>(size) : static_cast<std::int64_t>(size);
  return end;
}

const char* parse_real(const char* p, const char* end, double& value) {
  if (const char* q = parse_short_real(p, end, value); q != nullptr) return q;
  if (*p == '+' && p[1] != '-') ++p;
  const std::from_chars_result result = std::from_chars(p, end, value);
  if (result.ec == std::errc::invalid_argument) return nullptr;
  if (result.ec == std::errc::result_out_of_range)
    value = std::strtod(std::string(p, result.ptr).c_str(), nullptr);
  return std::isfinite(static_cast<float>(value)) ? result.ptr : nullptr;
}

const char* parse_real(const char* p, const char* end, float& value) {
  double wide = 0;
  const char* const q = parse_real(p, end, wide);
  value = static_cast<float>(wide);
  return q;
}

}  // namespace thalweg
