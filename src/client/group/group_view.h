// What one group sees of a fabric that it shares with the groups split off it: ranks and channels of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "client/group/copy_tuner.h"
#include "exchange/exchange.h"
#include "net/live_fabric.h"
#include "thalweg/status.h"

namespace thalweg {

// Channels of one group, of those that its fabric has.
struct GroupChannels {
  static constexpr std::uint16_t kOneMax = 28;      // Of one operation.
  static constexpr std::uint16_t kBlocking = 0;     // The first of those for one blocking operation.
  static constexpr std::uint16_t kStarted = 28;     // The same of those for operations side by side, which
  static constexpr std::uint16_t kStartedAll = 32;  // take them in turns.
  static constexpr std::uint16_t kPointToPoint = 60;
  static constexpr std::uint16_t kAll = 64;
};

class GroupView final : public Fabric {
 public:
  // `ranks`: of the fabric, by rank of the group; empty where they are the same. `id`: the same at all ranks
  // of the group, and of no other on this fabric.
  GroupView(LiveFabric& fabric, std::vector<std::uint32_t> ranks, std::uint32_t size,
            std::uint16_t first_channel, std::uint64_t id)
      : fabric_(fabric), ranks_(std::move(ranks)), size_(size), first_channel_(first_channel), id_(id) {}

  // Itself, or what stands behind it where nothing needs translation.
  Fabric& fabric() { return ranks_.empty() && first_channel_ == 0 ? static_cast<Fabric&>(fabric_) : *this; }
  std::uint32_t fabric_rank(std::uint32_t rank) const { return ranks_.empty() ? rank : ranks_[rank]; }
  bool has_all_ranks() const { return ranks_.empty(); }
  std::uint16_t first_channel() const { return first_channel_; }
  std::uint64_t id() const { return id_; }
  GroupControl* control() { return fabric_.control(); }
  CallBoard* calls() { return fabric_.calls(); }
  Status peer_status(std::uint32_t rank) { return fabric_.peer_status(fabric_rank(rank)); }

  // Of operations that have ended.
  std::uint64_t bytes_sent() const { return bytes_sent_.load(std::memory_order_relaxed); }
  void add_sent(std::uint64_t bytes) { bytes_sent_.fetch_add(bytes, std::memory_order_relaxed); }

  // Of two ranks the first chooses how operations copy what is in ordinary memory.
  CopyTuner::Trial begin_copies(const Call& call, const Plan& plan, std::uint32_t rank) {
    if (size_ != 2 || rank != 0 || plan.route != &routes::kShared) return {};
    return copies_.begin(call.operation, call.count * call.arithmetic.element_bytes, live_now());
  }
  void end_copies(const CopyTuner::Trial& trial, const Exchange& ended) {
    if (trial.is_timed() && !ended.in_group_memory() && ended.status().ok()) copies_.end(trial, live_now());
  }

  // Why the group can no longer be used; the first reason stays.
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Status failure() const {
    const std::lock_guard lock(mutex_);
    return failure_;
  }
  void fail(const Status& why) {
    const std::lock_guard lock(mutex_);
    if (failure_.ok()) failure_ = why;
    failed_.store(true, std::memory_order_release);
  }
  // As LiveFabric's, to all ranks.
  void give_up(std::uint16_t channel, std::uint64_t sequence) {
    for (std::uint32_t rank = 0; rank < size_; ++rank) fabric_.give_up(outer({rank, channel}), sequence);
  }
  bool has_given_up(Link with, std::uint64_t sequence) { return fabric_.has_given_up(outer(with), sequence); }

  // Operations that were started and have not ended; the driver counts them.
  std::atomic<std::uint32_t> under_way{0};
  // Those, and others whose callers do not see yet that they have ended. With the driver's mutex.
  std::uint32_t unsaid = 0;

  std::size_t write(Link to, std::span<const Piece> pieces) override {
    return fabric_.write(outer(to), pieces);
  }
  bool write_whole(Link to, std::span<const Piece> pieces) override {
    return fabric_.write_whole(outer(to), pieces);
  }
  Piece peek(Link from, std::size_t want) override { return fabric_.peek(outer(from), want); }
  Piece peek_soon(Link from, std::size_t want) override { return fabric_.peek_soon(outer(from), want); }
  void consume(Link from, std::size_t bytes) override { fabric_.consume(outer(from), bytes); }
  std::size_t read(Link from, std::byte* into, std::size_t size) override {
    return fabric_.read(outer(from), into, size);
  }
  std::uint64_t shared_offset(const void* data, std::size_t size) override {
    return fabric_.shared_offset(data, size);
  }
  std::byte* shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) override {
    return fabric_.shared_by(fabric_rank(peer), offset, size);
  }
  bool hold(Link with, std::uint64_t sequence) override { return fabric_.hold(outer(with), sequence); }
  void let_go(Link with) override { fabric_.let_go(outer(with)); }
  std::byte* staging(std::uint16_t channel) override {
    return fabric_.staging(static_cast<std::uint16_t>(channel + first_channel_));
  }
  bool borrows_channels() override { return true; }
  bool can_fetch(std::uint32_t peer) override { return fabric_.can_fetch(fabric_rank(peer)); }
  bool fetch(std::uint32_t peer, std::uint64_t address, std::byte* into, std::size_t size) override {
    return fabric_.fetch(fabric_rank(peer), address, into, size);
  }

 private:
  Link outer(Link link) const {
    return {fabric_rank(link.peer), static_cast<std::uint16_t>(link.channel + first_channel_)};
  }

  LiveFabric& fabric_;
  const std::vector<std::uint32_t> ranks_;
  const std::uint32_t size_;
  const std::uint16_t first_channel_;
  const std::uint64_t id_;
  std::atomic<std::uint64_t> bytes_sent_{0};
  CopyTuner copies_;
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;
  Status failure_;
};

}  // namespace thalweg
