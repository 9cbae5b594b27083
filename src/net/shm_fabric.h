// The fabric of ranks that are processes of one machine.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "net/live_fabric.h"
#include "net/shm_peer.h"
#include "net/spin.h"

namespace thalweg {

class ShmFabric final : public LiveFabric {
 public:
  // `sockets[r]` is connected to rank r, whose fabric is made at the same time; none for this rank.
  static Result<std::unique_ptr<ShmFabric>> create(ShmOptions options, std::vector<FileDescriptor> sockets,
                                                   Duration timeout);

  std::size_t write(Link to, std::span<const Piece> pieces) override;
  Piece peek(Link from, std::size_t want) override;
  void consume(Link from, std::size_t bytes) override;
  std::size_t read(Link from, std::byte* into, std::size_t size) override;
  std::uint64_t shared_offset(const void* data, std::size_t size) override;
  std::byte* shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) override;

  void wait(Instant until) override;
  void wake() override;
  bool any_lost() override;
  Status peer_status(std::uint32_t peer) override;
  Result<std::byte*> allocate(std::size_t size) override { return self_->arena().allocate(size); }
  void deallocate(std::byte* memory) override { self_->arena().free(memory); }

  std::uint64_t times_asleep() const { return times_asleep_; }
  // The spins it does from now on, whatever the machine's cores are.
  void set_crowded(bool crowded) { spin_ = Spin(crowded); }

 private:
  ShmFabric(std::unique_ptr<ShmSelf> self, std::vector<std::unique_ptr<ShmPeer>> peers);
  bool take_change();
  void sleep(Instant until);

  std::unique_ptr<ShmSelf> self_;
  std::vector<std::unique_ptr<ShmPeer>> peers_;  // By rank; null for this one.
  Spin spin_;
  std::atomic<bool> woken_{false};
  std::vector<pollfd> watched_;
  std::vector<std::size_t> watched_begin_;  // By rank.
  std::uint64_t times_asleep_ = 0;
};

// Whether more ranks than cores share a machine: `peers` and this rank, on the cores that any of them may
// use.
bool is_crowded(const ShmSelf& self, std::span<const std::unique_ptr<ShmPeer>> peers);

}  // namespace thalweg
