// "Did you mean": the nearest of a few known names.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace thalweg {

// Least number of insertions, deletions, substitutions and swaps of neighbours that turn one into the other
// (optimal string alignment distance). Texts longer than 64 bytes are cut.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The name nearest to `text`, or "" when none is near: a third of its letters may differ, or it begins
// with `text`.
std::string_view nearest(std::string_view text, const std::vector<std::string_view>& names);

}  // namespace thalweg
