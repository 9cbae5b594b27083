// A word as /bin/sh takes it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thalweg {

// In quotes, whatever it holds.
inline std::string quoted_for_shell(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Whether what stands at `at` of a command is in quotes already.
inline bool is_in_quotes(std::string_view command, std::size_t at) {
  char open = 0;
  for (std::size_t i = 0; i < at; ++i) {
    const char c = command[i];
    if (c == '\\' && open != '\'') {
      ++i;
    } else if (open == 0 && (c == '\'' || c == '"')) {
      open = c;
    } else if (c == open) {
      open = 0;
    }
  }
  return open != 0;
}

}  // namespace thalweg
