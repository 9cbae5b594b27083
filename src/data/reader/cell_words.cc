#include "data/reader/cell_words.h"

#include <algorithm>

namespace thalweg {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view cell, std::string_view word) {
  return std::equal(cell.begin(), cell.end(), word.begin(), word.end(),
                    [](char c, char w) { return lower(c) == w; });
}

// Takes what stands around a number: currencies, per cent, blanks, a sign.
std::string_view bare_number(std::string_view cell) {
  static constexpr std::string_view kAround[] = {"$",      "\u20ac", "\u00a3", "\u00a5", "%",
                                                 "\u00a0", " ",      "+",      "-"};
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::string_view mark : kAround) {
      if (cell.starts_with(mark)) cell.remove_prefix(mark.size()), changed = true;
      if (cell.ends_with(mark)) cell.remove_suffix(mark.size()), changed = true;
    }
  }
  return cell;
}

}  // namespace

bool means_number(std::string_view cell) {
  const std::string_view number = bare_number(cell);
  if (number.empty() || number.find_first_not_of("0123456789.,") != number.npos) return false;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!is_digit(number.front()) || !is_digit(number.back())) return false;
  const auto commas = std::count(number.begin(), number.end(), ',');
  const auto points = std::count(number.begin(), number.end(), '.');
  if (commas == 0) return points <= 1 && number.size() < cell.size();
  if (commas == 1) return points <= 1 || number.rfind('.') < number.find(',');
  for (std::size_t at = number.find(','); at != number.npos; at = number.find(',', at + 1)) {
    const std::size_t end = std::min(number.find_first_of(".,", at + 1), number.size());
    if (end - at != 4) return false;
  }
  return points <= 1 && number.rfind(',') < number.find('.');
}

bool says_missing(std::string_view cell) {
  if (cell == "\\N") return true;
  return same(cell, "na") || same(cell, "n/a") || same(cell, "nan") || same(cell, "null") ||
         same(cell, "none");
}

std::optional<float> truth_of(std::string_view cell) {
  if (same(cell, "true") || same(cell, "yes")) return 1.0f;
  if (same(cell, "false") || same(cell, "no")) return 0.0f;
  return std::nullopt;
}

}  // namespace thalweg
