// What stands in CSV cells beside plain numbers; words in any case of letters.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace thalweg {

// What the label is called where nobody says it; the first of them that is there.
inline constexpr std::array<std::string_view, 5> kLabelNames = {"label", "target", "click", "clicked", "y"};

// Without blanks at either end.
inline std::string_view trimmed(std::string_view cell) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!cell.empty() && blank(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && blank(cell.back())) cell.remove_suffix(1);
  return cell;
}

// What programs write into a numeric column for a missing value: NA, N/A, NaN, null, None, \N.
bool says_missing(std::string_view cell);

// A number as people write it for people: $3.50, 1,234.5, 3,5, 12 %. Plain numbers are none.
bool means_number(std::string_view cell);

// true and yes are 1, false and no are 0.
std::optional<float> truth_of(std::string_view cell);

}  // namespace thalweg
