// Numbers in text that is followed by at least kTextPad readable bytes and holds a '\n'.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace thalweg {

static_assert(std::endian::native == std::endian::little, "digits are read as little-endian words");

inline std::uint64_t load_word(const char* p) {
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

inline std::uint32_t load_half_word(const char* p) {
  std::uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// Bit i tells whether p[i] is a colon, for 64 bytes.
inline std::uint64_t colon_bits(const char* p) {
  std::uint64_t bits = 0;
#ifdef __SSE2__
  const __m128i colon = _mm_set1_epi8(':');
  for (int i = 0; i < 4; ++i) {
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(text, colon)));
    bits |= std::uint64_t{found} << (16 * i);
  }
#else
  for (int i = 0; i < 64; ++i) bits |= std::uint64_t{p[i] == ':'} << i;
#endif
  return bits;
}

// The number that is written by digits in the bytes of `nibbles` (the first digit lowest; leading zeros
// allowed), each 0 to 9 ("SIMD within a register"; Lemire and Langdale describe the method).
inline std::uint64_t join_digits(std::uint64_t nibbles) {
  std::uint64_t v = (nibbles * 10 + (nibbles >> 8)) & 0x00FF00FF00FF00FFULL;
  v = (v * 100 + (v >> 16)) & 0x0000FFFF0000FFFFULL;
  return (v * 10000 + (v >> 32)) & 0x00000000FFFFFFFFULL;
}

// Zero if every byte is 0 to 9. Otherwise the lowest set bit marks the first byte that is not.
inline std::uint64_t not_digits(std::uint64_t nibbles) {
  return ((nibbles + 0x7676767676767676ULL) | nibbles) & 0x8080808080808080ULL;
}

// Up to eight digits at once.
struct EightDigits {
  unsigned count;       // Leading digits among the eight bytes, 0..8.
  std::uint64_t value;  // Theirs; 0 if there are none.
};

inline EightDigits eight_digits(const char* p) {
  const std::uint64_t nibbles = load_word(p) ^ 0x3030303030303030ULL;
  const std::uint64_t others = not_digits(nibbles);
  if ((others & 0x80) != 0) return {0, 0};
  const unsigned count =
      static_cast<unsigned>(std::countr_zero(others)) >> 3;  // 64 >> 3 = 8 if all are digits.
  return {count, join_digits(nibbles << (64 - 8 * count))};
}

// An unsigned integer at p. Null: no digit there, or more than 64 bits (`overflow` tells which).
const char* parse_unsigned(const char* p, std::uint64_t& value, bool& overflow);
// A signed integer at p; null if there is none or it leaves 64 bits.
const char* parse_signed(const char* p, std::int64_t& value);
// A finite decimal number in [p, end), where kTextPad bytes after p may be read, optionally with a sign and
// exponent; null if there is none. Rounded to double, then to float; too small becomes 0.
const char* parse_real(const char* p, const char* end, float& value);
const char* parse_real(const char* p, const char* end,
                       double& value);  // As near as a double; no float's infinity.

}  // namespace thalweg
