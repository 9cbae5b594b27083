// How many files, connections among them, this process may have open.
#pragma once

#include <cstddef>

#include "thalweg/status.h"

namespace thalweg {

// Lets this process open so many more than it has now, as far as its hard limit goes. kIo: that is lower.
Status allow_open_files(std::size_t more);

}  // namespace thalweg
