// Many names in one: "m[0-7].gpu[0-3]".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::size_t kNamesMax = std::size_t{1} << 18;

// The names that a pattern stands for, the last range running fastest; one name when it has no range. Names
// are of letters, digits and ". _ - / :". kConfig says what is wrong, without the place.
Result<std::vector<std::string>> expand_names(std::string_view pattern);

}  // namespace thalweg
