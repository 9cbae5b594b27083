// How a rank that sleeps is woken by a peer on the same machine: a flag in shared memory says that it sleeps,
// an eventfd ends the sleep. Both sides store first and then look, each in the one order of sequentially
// consistent operations (Dekker), so either the sleeper sees the bytes or the writer sees the sleeper.
#pragma once

#include <atomic>
#include <cstdint>

namespace thalweg {

// What a sleeper waits for; bits of its flag.
inline constexpr std::uint32_t kWantsBytes = 1;
inline constexpr std::uint32_t kWantsRoom = 2;

class ShmDoorbell {
 public:
  // `asleep` is in memory that the peer writes; `bell_fd` is its eventfd. Both outlive this.
  ShmDoorbell(std::atomic<std::uint32_t>& asleep, int bell_fd) : asleep_(&asleep), bell_fd_(bell_fd) {}

  // Wakes the peer if it sleeps for `what`. Call after the store that it is to see.
  void ring(std::uint32_t what) {
    if ((asleep_->load(std::memory_order_seq_cst) & what) != 0) [[unlikely]]
      ring_now();
  }

 private:
  void ring_now();

  std::atomic<std::uint32_t>* asleep_;
  int bell_fd_;
};

}  // namespace thalweg
