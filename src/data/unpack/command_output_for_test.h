// All that a command writes, or why it could not be read.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "data/unpack/command_output.h"

namespace thalweg {

inline std::string text_of(const Result<std::unique_ptr<CommandOutput>>& output,
                           std::size_t bytes_at_once = 4096) {
  if (!output) return output.status().message();
  std::string text, part(bytes_at_once, '\0');
  for (;;) {
    const Result<std::size_t> count = (*output)->read(part.data(), part.size());
    if (!count) return count.status().message();
    if (*count == 0) return text;
    text.append(part, 0, *count);
  }
}

}  // namespace thalweg
