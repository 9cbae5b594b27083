// What becomes of the numbers of a column, see NumberForm.
#pragma once

#include <cstdint>
#include <string>

#include "data/column/columns.h"

namespace thalweg {

// The value of an entry. Precondition: the shape is not kBucket.
float in_form(float v, const NumberForm& form);
// floor(ln(v)^2), as in the winning solution of Criteo's challenge; v above 1.
std::int64_t log_bucket(double v);
// The key of a number's category in a column of shape kBucket with this salt.
Key bucket_key(float v, Key salt);
// What numbers it is of, for people: "2", "476..515".
std::string bucket_name(float v);

// To so many decimal digits; 0 if that is not finite.
float rounded_to_digits(double value, int digits);

}  // namespace thalweg
