// What parsers of entries say of bad ones.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "data/reader/row_parser.h"

namespace thalweg {

inline constexpr const char* kFullExpected = "at most 2^28 entries in a batch";

// For an entry that is well written up to its value.
inline bool fail_value(RowError& error, const char* at, const std::string& feature) {
  error.at = at;
  error.expected =
      fmt::format("a finite value of {}; an entry whose value is missing can be left out", feature);
  return false;
}

inline std::string class_expected(std::uint32_t classes) {
  return fmt::format("a class: a whole number from 0 to {}, since there are {} classes", classes - 1,
                     classes);
}
inline bool fail_class(RowError& error, const char* at, std::uint32_t classes) {
  error.at = at;
  error.expected = class_expected(classes);
  return false;
}

}  // namespace thalweg
