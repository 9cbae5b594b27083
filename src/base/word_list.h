// Words in a row for a message.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace thalweg {

// "lr, fm or ffm"
inline std::string any_of_words(std::span<const std::string_view> words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

}  // namespace thalweg
