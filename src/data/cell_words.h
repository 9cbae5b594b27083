// Words that stand for numbers in CSV cells, in any case of letters.
#pragma once

#include <optional>
#include <string_view>

namespace thalweg {

// What programs write into a numeric column for a missing value: NA, N/A, NaN, null, None, \N.
bool says_missing(std::string_view cell);

// true and yes are 1, false and no are 0.
std::optional<float> truth_of(std::string_view cell);

}  // namespace thalweg
