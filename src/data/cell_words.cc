#include "data/cell_words.h"

#include <algorithm>

namespace thalweg {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view cell, std::string_view word) {
  return std::equal(cell.begin(), cell.end(), word.begin(), word.end(),
                    [](char c, char w) { return lower(c) == w; });
}

}  // namespace

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
