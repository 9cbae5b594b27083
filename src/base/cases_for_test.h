#pragma once

#include <cstdint>

namespace thalweg {

// A sanitizer finds in every seventh of many cases what it would find in all; the release build runs each.
// Seven, because tests draw who is hit from a case's number by 2, 3 and 4.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kEveryForTest = 7;
#else
inline constexpr std::uint64_t kEveryForTest = 1;
#endif

}  // namespace thalweg
