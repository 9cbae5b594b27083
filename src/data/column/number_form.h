// What becomes of the numbers of a column, see NumberForm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "data/column/columns.h"

namespace thalweg {

// The value of an entry. Precondition: the shape is not kBucket.
float in_form(double v, const NumberForm& form);
// floor(ln(v)^2), as in the winning solution of Criteo's challenge; v above 1.
std::int64_t log_bucket(double v);
// The key of a number's category in a column of shape kBucket with this salt.
Key bucket_key(float v, Key salt);
// What numbers it is of, for people: "2", "476..515".
std::string bucket_name(float v);

// "-100/3.5", "/3.5": what a linear form subtracts, and then divides by; "/?": its scale is open.
std::string offset_and_scale_text(const NumberForm& form);
// False: `text` is none. Only a linear form has an offset.
[[nodiscard]] bool parse_offset_and_scale(std::string_view text, NumberForm& form);

// Numbers that are so far from 0 beside how much they differ that they are learnt from their mean: times a
// weight they would tell little but that they are there.
bool are_far_from_zero(double mean, double standard_deviation, double rounding);
// Of floats and of doubles: what differs by no more beside its size is one number.
inline constexpr double kFloatRounding = 2e-7, kDoubleRounding = 1e-11;
// What such numbers are learnt from: their mean, to as many digits as tell them apart.
double offset_of(double mean, double standard_deviation);
// Of a scale: the same numbers in another unit have the same digits.
inline constexpr int kScaleDigits = 3;
// To so many decimal digits; 0 if that is not finite.
float rounded_to_digits(double value, int digits);

}  // namespace thalweg
