// Foreign text for a terminal: names, cells of files and messages of peers may hold what would command it.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace thalweg {

// `text` with each control character but those in `keep`, each character that hides or turns text, and each
// byte that is no UTF-8 written as \x1b. What comes after `bytes_max` bytes is left out and counted. A text
// that has passed once passes unchanged.
std::string printable(std::string_view text, std::string_view keep = {},
                      std::size_t bytes_max = std::numeric_limits<std::size_t>::max());

}  // namespace thalweg
