// A word as /bin/sh takes it.
#pragma once

#include <string>

namespace thalweg {

// In quotes, whatever it holds.
inline std::string quoted_for_shell(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace thalweg
