#include "net/shm/shm_doorbell.h"

#include <unistd.h>

namespace thalweg {

void ShmDoorbell::ring_now() {
  if (asleep_->exchange(0) == 0) return;  // Woken for something else already.
  const std::uint64_t one = 1;
  // It fails only when the counter is full, and then the peer is being woken.
  [[maybe_unused]] const ssize_t written = ::write(bell_fd_, &one, sizeof one);
}

}  // namespace thalweg
