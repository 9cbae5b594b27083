// Which core a measured rank works on.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>

namespace thalweg {

// The calling thread to a core of its own, or one that as few ranks as possible share: else the kernel may
// keep two ranks on one core, where each waits for the other's time slice to end. What a launcher has bound
// to one core stays there.
inline void bind_to_core(std::uint32_t rank, std::uint32_t ranks) {
  cpu_set_t usable, own;
  CPU_ZERO(&usable);
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  const auto cores = static_cast<std::uint32_t>(CPU_COUNT(&usable));
  std::size_t core = 0;
  for (std::uint32_t left = ranks <= cores ? rank : rank * cores / ranks;; ++core) {
    if (CPU_ISSET(core, &usable) && left-- == 0) break;
  }
  CPU_SET(core, &own);
  ::sched_setaffinity(0, sizeof own, &own);
}

// The calling thread may use the same cores afterwards, so that what it starts next may, too.
class CoresKept {
 public:
  CoresKept() : known_(::sched_getaffinity(0, sizeof cores_, &cores_) == 0) {}
  ~CoresKept() {
    if (known_) ::sched_setaffinity(0, sizeof cores_, &cores_);
  }
  CoresKept(const CoresKept&) = delete;
  CoresKept& operator=(const CoresKept&) = delete;

 private:
  cpu_set_t cores_{};
  bool known_;
};

}  // namespace thalweg
