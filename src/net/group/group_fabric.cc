#include "net/group/group_fabric.h"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <utility>

namespace thalweg {

GroupFabric::GroupFabric(std::uint32_t ranks, bool crowded, Duration spin, FileDescriptor wake_fd)
    : streams_(ranks),
      wake_fd_(std::move(wake_fd)),
      spin_(crowded),
      spin_time_(crowded ? Duration::zero() : spin) {}

void GroupFabric::set_streams(std::uint32_t peer, std::unique_ptr<PairStreams> streams, bool hidden) {
  streams_[peer] = std::move(streams);
  hidden_ = hidden_ || hidden;
}

std::size_t GroupFabric::write(Link to, std::span<const Piece> pieces) {
  PairStreams& streams = *streams_[to.peer];
  const std::size_t taken = streams.write(to.channel, pieces);
  if (taken == 0) note(streams);
  moved_ = moved_ || taken > 0;
  return taken;
}

bool GroupFabric::write_whole(Link to, std::span<const Piece> pieces) {
  const bool taken = streams_[to.peer]->write_whole(to.channel, pieces);
  moved_ = moved_ || taken;
  return taken;
}

Piece GroupFabric::peek(Link from, std::size_t want) {
  PairStreams& streams = *streams_[from.peer];
  const Piece piece = streams.peek(from.channel, want);
  if (piece.size < want) note(streams);
  return piece;
}

Piece GroupFabric::peek_soon(Link from, std::size_t want) {
  PairStreams& streams = *streams_[from.peer];
  const Piece piece = streams.peek_soon(from.channel, want, spin_, woken_);
  if (piece.size < want) note(streams);
  return piece;
}

void GroupFabric::consume(Link from, std::size_t bytes) {
  moved_ = moved_ || bytes > 0;
  streams_[from.peer]->consume(from.channel, bytes);
}

std::size_t GroupFabric::read(Link from, std::byte* into, std::size_t size) {
  PairStreams& streams = *streams_[from.peer];
  const std::size_t got = streams.read(from.channel, into, size);
  if (got == 0) note(streams);
  moved_ = moved_ || got > 0;
  return got;
}

std::uint64_t GroupFabric::shared_offset(const void* data, std::size_t size) {
  return shared_ ? shared_->arena().offset_of(data, size) : kNotShared;
}

std::byte* GroupFabric::shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) {
  if (shared_ && peer == shared_->options().rank) return shared_->arena().at(offset, size);
  return streams_[peer] ? streams_[peer]->shared_by(offset, size) : nullptr;
}

std::byte* GroupFabric::staging(std::uint16_t channel) {
  if (!shared_) return nullptr;
  std::byte*& area = staging_[channel];
  if (area) return area;
  const Result<std::byte*> memory = shared_->arena().allocate(kStagingTurns * kStagingBytes);
  return area = memory ? *memory : nullptr;
}

Status GroupFabric::peer_status(std::uint32_t peer) {
  return streams_[peer] ? streams_[peer]->status() : ok_status();
}

Result<std::byte*> GroupFabric::allocate(std::size_t size) {
  if (shared_) return shared_->arena().allocate(size);
  constexpr std::size_t kAlignment = 64;
  const std::size_t rounded = (std::max<std::size_t>(size, 1) + kAlignment - 1) / kAlignment * kAlignment;
  std::unique_ptr<std::byte, void (*)(void*)> memory(
      static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded)), std::free);
  if (!memory) return Status(Code::kIo, "no memory for " + std::to_string(size) + " bytes");
  std::memset(memory.get(), 0, rounded);
  std::byte* begin = memory.get();
  memory_.emplace(begin, std::move(memory));
  return begin;
}

void GroupFabric::deallocate(std::byte* memory) {
  if (memory_.erase(memory) == 0 && shared_) shared_->arena().free(memory);
}

void GroupFabric::wake() {
  if (woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_fd_.get(), &one, sizeof one);
}

void GroupFabric::wait(Instant until) {
  if (!hidden_) {
    if (!spin_.look(until, [this] { return take_change(); })) sleep(until);
  } else if (std::exchange(moved_, false)) {
    idle_ = false;
  } else if (!looks_again(until)) {
    sleep(until);
  }
  if (woken_.load(std::memory_order_relaxed)) woken_.store(false);
}

bool GroupFabric::take_change() {
  bool found = woken_.load(std::memory_order_relaxed);
  for (const auto& streams : streams_) found |= streams && streams->take_change();
  return found;
}

// Whether the caller should look at the links once more before it sleeps.
bool GroupFabric::looks_again(Instant until) {
  const Instant now = live_now();
  if (now >= until || woken_.load(std::memory_order_relaxed)) return true;
  if (!std::exchange(idle_, true)) idle_since_ = now;
  return now - idle_since_ < spin_time_;
}

void GroupFabric::sleep(Instant until) {
  watched_.assign(1, {wake_fd_.get(), POLLIN, 0});
  if (shared_) watched_.push_back({shared_->bell_fd(), POLLIN, 0});
  until = std::min(until, watch_others(watched_));
  begins_.clear();
  bool quiet = true;
  for (const auto& streams : streams_) {
    begins_.push_back(watched_.size());
    if (streams && !streams->before_sleep(watched_)) quiet = false;
  }
  begins_.push_back(watched_.size());
  const Duration left = quiet ? std::max(until - live_now(), Duration::zero()) : Duration::zero();
  timespec timeout{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  const int ready =
      ::ppoll(watched_.data(), watched_.size(), until == kNever && quiet ? nullptr : &timeout, nullptr);
  if (ready < 0) std::for_each(watched_.begin(), watched_.end(), [](pollfd& fd) { fd.revents = 0; });
  for (std::size_t peer = 0; peer < streams_.size(); ++peer) {
    if (!streams_[peer]) continue;
    streams_[peer]->after_sleep({watched_.data() + begins_[peer], begins_[peer + 1] - begins_[peer]});
    note(*streams_[peer]);
  }
  if (shared_ && watched_[1].revents != 0) shared_->silence();
  if (ready <= 0) return;
  idle_ = false;
  if (watched_[0].revents == 0) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = ::read(wake_fd_.get(), &count, sizeof count);
}

}  // namespace thalweg
