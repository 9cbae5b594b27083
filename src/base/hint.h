// What the reader of an error could do about it.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::string_view kHint = "\nhint: ";

// Appends a hint, shown on a line of its own.
inline Status with_hint(const Status& status, std::string_view hint) {
  return {status.code(), status.message() + std::string(kHint) + std::string(hint)};
}

}  // namespace thalweg
