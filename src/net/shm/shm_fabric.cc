#include "net/shm/shm_fabric.h"

#include <utility>

#include "base/check.h"
#include "net/socket/event_fd.h"

namespace thalweg {

Result<std::unique_ptr<ShmFabric>> ShmFabric::create(ShmOptions options, std::vector<FileDescriptor> sockets,
                                                     Duration timeout, bool crowded) {
  THALWEG_CHECK(sockets.size() == options.ranks, "a socket for each rank");
  auto self = ShmSelf::create(std::move(options));
  if (!self) return self.status();
  std::vector<std::unique_ptr<ShmPeer>> peers(sockets.size());
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    if (!sockets[rank]) continue;
    auto peer = ShmPeer::meet(std::move(sockets[rank]), **self, static_cast<std::uint32_t>(rank), timeout);
    if (!peer) return peer.status();
    peers[rank] = *std::move(peer);
  }
  auto wake_fd = make_event_fd();
  if (!wake_fd) return wake_fd.status();
  return std::unique_ptr<ShmFabric>(
      new ShmFabric(*std::move(self), std::move(peers), crowded, *std::move(wake_fd)));
}

ShmFabric::ShmFabric(std::unique_ptr<ShmSelf> self, std::vector<std::unique_ptr<ShmPeer>> peers, bool crowded,
                     FileDescriptor wake_fd)
    : GroupFabric(self->options().ranks, crowded, Duration::zero(), std::move(wake_fd)),
      self_(std::move(self)) {
  share(*self_);
  for (std::uint32_t rank = 0; rank < peers.size(); ++rank) {
    if (peers[rank]) set_streams(rank, std::move(peers[rank]), false);
  }
}

}  // namespace thalweg
