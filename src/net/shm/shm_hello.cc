#include "net/shm/shm_hello.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>

#include "base/limits.h"
#include "net/shm/shm_ring.h"

namespace thalweg {

namespace {

constexpr std::size_t kDescriptors = 3;
constexpr std::uint64_t kArenaBytesMax = std::uint64_t{1} << 46;

Status system_error(const char* what) { return {Code::kIo, std::string(what) + ": " + std::strerror(errno)}; }

// Takes what came along, whatever it is, so that nothing is left open.
std::size_t take_descriptors(msghdr& message, std::array<FileDescriptor, kDescriptors>& into) {
  std::size_t count = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t here = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < here; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      FileDescriptor owned(fd);
      if (count < kDescriptors) into[count] = std::move(owned);
      ++count;
    }
  }
  return count;
}

}  // namespace

Result<ShmCredentials> peer_credentials(int socket) {
  ucred found{};
  socklen_t size = sizeof found;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) {
    return system_error("cannot tell who is at the other end of a Unix socket");
  }
  return ShmCredentials{found.uid};
}

Status check_credentials(const Result<ShmCredentials>& peer, std::uint32_t rank) {
  if (!peer) return peer.status();
  if (peer->user == ::geteuid()) return {};
  return {Code::kRefused, "rank " + std::to_string(rank) + " runs as user " + std::to_string(peer->user) +
                              ", this rank as user " + std::to_string(::geteuid()) +
                              "; only processes of one user share memory"};
}

Status send_hello(int socket, const ShmHello& hello, const std::array<int, 3>& descriptors) {
  ShmHello copy = hello;
  iovec part{&copy, sizeof copy};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kDescriptors)> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int) * kDescriptors);
  std::memcpy(CMSG_DATA(head), descriptors.data(), sizeof(int) * kDescriptors);
  const ssize_t sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent == static_cast<ssize_t>(sizeof copy)) return {};
  if (sent < 0 && (errno == EPIPE || errno == ECONNRESET)) {
    return {Code::kPeerLost, "hung up before it was greeted"};
  }
  return system_error("cannot hand shared memory to a peer");
}

Result<ShmHello> receive_hello(int socket, Duration timeout, ShmDescriptors& descriptors) {
  using Steady = std::chrono::steady_clock;
  const auto until = Steady::now() + timeout;
  ShmHello hello;
  std::array<FileDescriptor, kDescriptors> fds;
  std::size_t got = 0, count = 0;
  bool cut = false;
  while (got < sizeof hello) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now()).count();
    pollfd ready{socket, POLLIN, 0};
    const int found = ::poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 1000)));
    if (found == 0 && left <= 0)
      return Status(Code::kTimeout, "it did not hand over its shared memory in time");
    if (found <= 0) continue;
    iovec part{reinterpret_cast<char*>(&hello) + got, sizeof hello - got};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kDescriptors)> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t now = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (now < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (now < 0 && errno != ECONNRESET) return system_error("cannot receive a peer's shared memory");
    if (now <= 0) return Status(Code::kPeerLost, "it ended before it handed over its shared memory");
    count += take_descriptors(message, fds);
    cut = cut || (message.msg_flags & MSG_CTRUNC) != 0;
    got += static_cast<std::size_t>(now);
  }
  if (cut && count < kDescriptors) {
    return Status(Code::kIo, "this process has no descriptors left for the memory that it handed over");
  }
  if (count != kDescriptors) {
    return Status(Code::kRefused, "it handed over " + std::to_string(count) + " descriptors instead of 3");
  }
  descriptors = {std::move(fds[0]), std::move(fds[1]), std::move(fds[2])};
  return hello;
}

Status check_hello(const ShmHello& hello, std::uint32_t peer, std::uint32_t ranks) {
  const auto refuse = [](const std::string& what, std::uint64_t found, std::uint64_t expected) {
    return Status(Code::kRefused,
                  "its " + what + " is " + std::to_string(found) + " instead of " + std::to_string(expected));
  };
  if (hello.magic != ShmHello::kMagic) return refuse("greeting", hello.magic, ShmHello::kMagic);
  if (hello.rank != peer) return refuse("rank", hello.rank, peer);
  if (hello.ranks != ranks) return refuse("number of ranks", hello.ranks, ranks);
  if (hello.channels != limits::kChannelsMax)
    return refuse("number of channels", hello.channels, limits::kChannelsMax);
  for (const std::uint64_t ring : {hello.ring_bytes, hello.first_ring_bytes}) {
    if (ring >= kShmRingBytesMin && ring <= kShmRingBytesMax && (ring & (ring - 1)) == 0) continue;
    return Status(Code::kRefused, "its rings have " + std::to_string(ring) +
                                      " bytes, which is no power of two from 4 KiB to 64 MiB");
  }
  if (hello.arena_bytes > kArenaBytesMax) return refuse("group memory", hello.arena_bytes, kArenaBytesMax);
  return {};
}

}  // namespace thalweg
