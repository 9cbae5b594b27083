#include "net/shm_fabric.h"

#include <poll.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/check.h"

namespace thalweg {

bool is_crowded(const ShmSelf& self, std::span<const std::unique_ptr<ShmPeer>> peers) {
  cpu_set_t cores = self.cores();
  int ranks = 1;
  for (const auto& peer : peers) {
    if (!peer) continue;
    ++ranks;
    CPU_OR(&cores, &cores, &peer->cores());
  }
  return ranks > CPU_COUNT(&cores);
}

Result<std::unique_ptr<ShmFabric>> ShmFabric::create(ShmOptions options, std::vector<FileDescriptor> sockets,
                                                     Duration timeout) {
  THALWEG_CHECK(sockets.size() == options.ranks, "a socket for each rank");
  auto self = ShmSelf::create(std::move(options));
  if (!self) return self.status();
  std::vector<std::unique_ptr<ShmPeer>> peers(sockets.size());
  for (std::size_t rank = 0; rank < sockets.size(); ++rank) {
    if (!sockets[rank]) continue;
    auto peer = ShmPeer::begin(std::move(sockets[rank]), **self, static_cast<std::uint32_t>(rank));
    if (!peer) return peer.status();
    peers[rank] = *std::move(peer);
  }
  for (const auto& peer : peers) {
    if (!peer) continue;
    if (Status met = peer->finish(timeout); !met) return met;
  }
  return std::unique_ptr<ShmFabric>(new ShmFabric(*std::move(self), std::move(peers)));
}

ShmFabric::ShmFabric(std::unique_ptr<ShmSelf> self, std::vector<std::unique_ptr<ShmPeer>> peers)
    : self_(std::move(self)),
      peers_(std::move(peers)),
      spin_(is_crowded(*self_, peers_)),
      watched_begin_(peers_.size() + 1) {}

std::size_t ShmFabric::write(Link to, std::span<const Piece> pieces) {
  return peers_[to.peer]->write(to.channel, pieces);
}
Piece ShmFabric::peek(Link from, std::size_t want) { return peers_[from.peer]->peek(from.channel, want); }
void ShmFabric::consume(Link from, std::size_t bytes) { peers_[from.peer]->consume(from.channel, bytes); }
std::size_t ShmFabric::read(Link from, std::byte* into, std::size_t size) {
  return peers_[from.peer]->read(from.channel, into, size);
}
std::uint64_t ShmFabric::shared_offset(const void* data, std::size_t size) {
  return self_->arena().offset_of(data, size);
}
std::byte* ShmFabric::shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) {
  if (peers_[peer]) return peers_[peer]->shared_by(offset, size);
  return self_->arena().at(offset, size);
}

bool ShmFabric::take_change() {
  bool found = woken_.load(std::memory_order_relaxed) && woken_.exchange(false);
  for (const auto& peer : peers_) found |= peer && peer->take_change();
  return found;
}

void ShmFabric::wait(Instant until) {
  if (!spin_.look(until, [this] { return take_change(); })) sleep(until);
}

void ShmFabric::sleep(Instant until) {
  watched_.clear();
  watched_.push_back({self_->bell_fd(), POLLIN, 0});
  bool changed = false;
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    watched_begin_[rank] = watched_.size();
    if (peers_[rank] && !peers_[rank]->before_sleep(watched_)) changed = true;
  }
  watched_begin_.back() = watched_.size();
  if (!changed) {
    ++times_asleep_;
    const std::int64_t left = until == kNever ? 0 : std::max<std::int64_t>((until - live_now()).count(), 0);
    const timespec timeout{left / 1'000'000'000, static_cast<long>(left % 1'000'000'000)};
    ::ppoll(watched_.data(), watched_.size(), until == kNever ? nullptr : &timeout, nullptr);
  }
  if (watched_[0].revents != 0) self_->silence();
  for (std::size_t rank = 0; rank < peers_.size(); ++rank) {
    const std::size_t begin = watched_begin_[rank];
    if (peers_[rank])
      peers_[rank]->after_sleep(std::span(watched_).subspan(begin, watched_begin_[rank + 1] - begin));
  }
  take_change();  // Told by returning.
}

void ShmFabric::wake() {
  woken_.store(true);
  self_->ring();
}

bool ShmFabric::any_lost() {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& peer) { return peer && !peer->status(); });
}

Status ShmFabric::peer_status(std::uint32_t peer) {
  return peers_[peer] ? peers_[peer]->status() : Status::ok();
}

}  // namespace thalweg
