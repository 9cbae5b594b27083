// The processes that this one has started or that have fallen to it.
#pragma once

#include <sys/types.h>

#include <vector>

namespace thalweg {

std::vector<pid_t> own_children();

}  // namespace thalweg
