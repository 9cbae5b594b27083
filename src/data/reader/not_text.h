// Files that hold no lines of text: which kind they are, and what makes lines of them.
#pragma once

#include <string>
#include <string_view>

#include "thalweg/status.h"

namespace thalweg {

// `head`: what the file at `path` begins with. kData, unless it may be lines of text.
Status check_text(const std::string& path, std::string_view head);

}  // namespace thalweg
