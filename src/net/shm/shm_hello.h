// What two ranks of one machine tell and hand each other over a Unix-domain socket before they share memory.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include "base/instant.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

struct ShmHello {
  static constexpr std::uint64_t kMagic = 0x354d48534745574c;  // "LWEGSHM5"
  std::uint64_t magic = kMagic;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::uint32_t process = 0;
  std::uint32_t channels = 0;
  std::uint64_t ring_bytes = 0;        // Of each channel but the first.
  std::uint64_t first_ring_bytes = 0;  // Of that.
  std::uint64_t arena_bytes = 0;
  // A word drawn by chance and where it is in the process: who can read it there can read its vectors.
  std::uint64_t word = 0;
  std::uint64_t word_address = 0;
};
static_assert(std::is_trivially_copyable_v<ShmHello> && sizeof(ShmHello) == 64);

// What goes with it, in this order.
struct ShmDescriptors {
  FileDescriptor outbox;  // The rings that the sender writes.
  FileDescriptor arena;
  FileDescriptor bell;  // An eventfd.
};

// OK, or kRefused when the process at the other end runs as another user; kIo when the system does not say.
struct ShmCredentials {
  uid_t user = 0;
};
Result<ShmCredentials> peer_credentials(int socket);
Status check_credentials(const Result<ShmCredentials>& peer, std::uint32_t rank);

// Never waits: the socket holds it.
Status send_hello(int socket, const ShmHello& hello, const std::array<int, 3>& descriptors);
// Waits for at most `timeout`.
Result<ShmHello> receive_hello(int socket, Duration timeout, ShmDescriptors& descriptors);
// OK, or what is wrong with what rank `peer` of `ranks` said.
Status check_hello(const ShmHello& hello, std::uint32_t peer, std::uint32_t ranks);

}  // namespace thalweg
