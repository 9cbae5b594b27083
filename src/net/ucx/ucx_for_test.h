// Whether tests can use UCX here.
#pragma once

#include <string>

#include "net/ucx/ucx_group.h"

namespace thalweg {

// Empty, or why not.
inline std::string why_no_ucx() {
#if defined(__SANITIZE_THREAD__)
  return "UCX is not built for ThreadSanitizer, which takes its queues and locks for races";
#else
  return UcxGroup::available().message();
#endif
}

}  // namespace thalweg
