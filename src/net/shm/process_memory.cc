#include "net/shm/process_memory.h"

#include <sys/uio.h>

#include <algorithm>

namespace thalweg {

ssize_t read_process_memory(pid_t process, std::uint64_t address, std::byte* into, std::size_t size) {
  constexpr std::size_t kAtOnce = std::size_t{1} << 30;  // The system takes no more than 2 GiB.
  std::size_t done = 0;
  while (done < size) {
    const std::size_t want = std::min(size - done, kAtOnce);
    const iovec here{into + done, want};
    const iovec there{reinterpret_cast<void*>(address + done), want};
    const ssize_t got = ::process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got <= 0) return done > 0 ? static_cast<ssize_t>(done) : -1;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<ssize_t>(done);
}

}  // namespace thalweg
