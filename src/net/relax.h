// What a thread does between two looks at memory that another one writes.
#pragma once

#if !defined(__x86_64__)
#include <sched.h>
#endif

namespace thalweg {

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  ::sched_yield();
#endif
}

}  // namespace thalweg
