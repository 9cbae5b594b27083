#include "data/reader/number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

#include "base/random.h"
#include "data/read_options.h"

namespace thalweg {
namespace {

std::string padded(const std::string& text) { return text + "\n" + std::string(kTextPad, '9'); }

TEST(Number, EightDigitsStopsAtTheFirstOther) {
  for (int other = 0; other < 256; ++other) {
    if (other >= '0' && other <= '9') continue;
    for (unsigned count = 0; count < 8; ++count) {
      std::string text = std::string("12345678").substr(0, count) + static_cast<char>(other) + "99999999";
      const EightDigits digits = eight_digits(text.data());
      EXPECT_EQ(digits.count, count) << other;
      EXPECT_EQ(digits.value, count == 0 ? 0 : std::stoull(text.substr(0, count)));
    }
  }
  EXPECT_EQ(eight_digits("12345678").value, 12345678u);
  EXPECT_EQ(eight_digits("12345678").count, 8u);
}

TEST(Number, NotDigitsIsZeroForDigitsOnly) {
  for (int byte = 0; byte < 256; ++byte) {
    for (int at = 0; at < 8; ++at) {
      std::string text = "90909090";
      text[static_cast<std::size_t>(at)] = static_cast<char>(byte);
      const bool digit = byte >= '0' && byte <= '9';
      EXPECT_EQ(not_digits(load_word(text.data()) ^ 0x3030303030303030ULL) == 0, digit)
          << byte << " at " << at;
    }
  }
}

TEST(Number, ColonBits) {
  std::string text(64, 'x');
  text[0] = text[17] = text[63] = ':';
  text[5] = ';';
  EXPECT_EQ(colon_bits(text.data()), 1ULL | 1ULL << 17 | 1ULL << 63);
}

TEST(Number, UnsignedUpToSixtyFourBits) {
  std::uint64_t value = 0;
  bool overflow = false;
  for (const std::uint64_t expected : {0ull, 7ull, 99999999ull, 100000000ull, 1234567890123456ull,
                                       12345678901234567ull, 18446744073709551615ull}) {
    const std::string text = padded(std::to_string(expected) + ":");
    const char* end = parse_unsigned(text.data(), value, overflow);
    ASSERT_NE(end, nullptr);
    EXPECT_EQ(*end, ':');
    EXPECT_EQ(value, expected);
  }
  EXPECT_EQ(parse_unsigned(padded("18446744073709551616").data(), value, overflow), nullptr);
  EXPECT_TRUE(overflow);
  EXPECT_EQ(parse_unsigned(padded("x").data(), value, overflow), nullptr);
  EXPECT_FALSE(overflow);
  EXPECT_NE(parse_unsigned(padded("0000000000000000000000000007").data(), value, overflow), nullptr);
  EXPECT_EQ(value, 7u);
}

TEST(Number, SignedRange) {
  std::int64_t value = 0;
  EXPECT_NE(parse_signed(padded("-12").data(), value), nullptr);
  EXPECT_EQ(value, -12);
  EXPECT_NE(parse_signed(padded("+9223372036854775807").data(), value), nullptr);
  EXPECT_EQ(value, INT64_MAX);
  EXPECT_EQ(parse_signed(padded("9223372036854775808").data(), value), nullptr);
  EXPECT_EQ(parse_signed(padded("-").data(), value), nullptr);
}

TEST(Number, RealsAreRoundedAsTheLibraryRoundsThem) {
  Random random(3);
  for (int i = 0; i < 200000; ++i) {
    std::string text = random.chance(0.3) ? "-" : "";
    const std::uint64_t whole = 1 + random.below(9), part = random.below(10);
    for (std::uint64_t d = 0; d < whole; ++d) text += static_cast<char>('0' + random.below(10));
    if (part > 0) text += '.';
    for (std::uint64_t d = 0; d < part; ++d) text += static_cast<char>('0' + random.below(10));
    if (random.chance(0.1)) text += "e-" + std::to_string(random.below(40));
    const std::string line = padded(text + " ");
    float value = 0;
    const char* end = parse_real(line.data(), line.data() + line.size(), value);
    ASSERT_NE(end, nullptr) << text;
    EXPECT_EQ(*end, ' ') << text;
    EXPECT_EQ(value, static_cast<float>(std::strtod(text.c_str(), nullptr))) << text;
  }
}

TEST(Number, RealsThatAreNone) {
  float value = 0;
  for (const char* text : {"", "nan", "inf", "-inf", "+-1", "x", ".", "-", "1e39", "-1e400"}) {
    const std::string line = padded(text);
    EXPECT_EQ(parse_real(line.data(), line.data() + line.size(), value), nullptr) << text;
  }
  const std::string tiny = padded("1e-400");
  ASSERT_NE(parse_real(tiny.data(), tiny.data() + tiny.size(), value), nullptr);
  EXPECT_EQ(value, 0.0f);
}

}  // namespace
}  // namespace thalweg
