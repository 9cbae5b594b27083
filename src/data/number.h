// Numbers in text that is followed by at least kTextPad readable bytes and holds a '\n'.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace thalweg {

static_assert(std::endian::native == std::endian::little, "digits are read as little-endian words");

inline std::uint64_t load_word(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Up to eight digits at once ("SIMD within a register"; Lemire and Langdale describe the method).
struct EightDigits {
  unsigned count;       // Leading digits among the eight bytes, 0..8.
  std::uint64_t value;  // Theirs; 0 if there are none.
};

inline EightDigits eight_digits(const char* p) {
  const std::uint64_t nibbles = load_word(p) ^ 0x3030303030303030ULL;
  // The lowest set bit marks the first byte that is no digit; sums may carry only above it.
  const std::uint64_t others = ((nibbles + 0x7676767676767676ULL) | nibbles) & 0x8080808080808080ULL;
  if ((others & 0x80) != 0) return {0, 0};
  const unsigned count =
      static_cast<unsigned>(std::countr_zero(others)) >> 3;  // 64 >> 3 = 8 if all are digits.
  std::uint64_t v = nibbles << (64 - 8 * count);
  v = (v * 10 + (v >> 8)) & 0x00FF00FF00FF00FFULL;
  v = (v * 100 + (v >> 16)) & 0x0000FFFF0000FFFFULL;
  v = (v * 10000 + (v >> 32)) & 0x00000000FFFFFFFFULL;
  return {count, v};
}

// An unsigned integer at p. Null: no digit there, or more than 64 bits (`overflow` tells which).
const char* parse_unsigned(const char* p, std::uint64_t& value, bool& overflow);
// A signed integer at p; null if there is none or it leaves 64 bits.
const char* parse_signed(const char* p, std::int64_t& value);
// A finite decimal number in [p, end), optionally with a sign and exponent; null if there is none. Rounded to
// double, then to float; too small becomes 0.
const char* parse_real(const char* p, const char* end, float& value);

}  // namespace thalweg
