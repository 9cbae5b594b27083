// What a line of a driver's log ends in while it tries again.
#pragma once

#include <string>
#include <string_view>

namespace thalweg {

inline constexpr std::string_view kTryingAgain = "; trying again";

// For whoever tells of the line once that is over.
inline std::string without_trying_again(std::string line) {
  if (line.ends_with(kTryingAgain)) line.resize(line.size() - kTryingAgain.size());
  return line;
}

}  // namespace thalweg
