// A rank's fabric among other processes: one kind of streams for each peer, and one place to sleep for all.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "net/live_fabric.h"
#include "net/pair_streams.h"
#include "net/shm/shm_peer.h"
#include "net/socket/file_descriptor.h"
#include "net/spin.h"

namespace thalweg {

class GroupFabric : public LiveFabric {
 public:
  // `crowded`: the machine's ranks outnumber its cores. `spin` is how long wait() returns at once, for its
  // caller to look again, after bytes last moved; of streams that show a change, it looks itself.
  // `wake_fd`: an eventfd.
  GroupFabric(std::uint32_t ranks, bool crowded, Duration spin, FileDescriptor wake_fd);

  std::size_t write(Link to, std::span<const Piece> pieces) override;
  bool write_whole(Link to, std::span<const Piece> pieces) override;
  Piece peek(Link from, std::size_t want) override;
  Piece peek_soon(Link from, std::size_t want) override;
  void consume(Link from, std::size_t bytes) override;
  std::size_t read(Link from, std::byte* into, std::size_t size) override;
  std::uint64_t shared_offset(const void* data, std::size_t size) override;
  std::byte* shared_by(std::uint32_t peer, std::uint64_t offset, std::size_t size) override;
  std::byte* staging(std::uint16_t channel) override;
  bool can_fetch(std::uint32_t peer) override { return streams_[peer] && streams_[peer]->can_fetch(); }
  bool fetch(std::uint32_t peer, std::uint64_t address, std::byte* into, std::size_t size) override {
    return streams_[peer] && streams_[peer]->fetch(address, into, size);
  }
  void wait(Instant until) override;
  void wake() override;
  bool any_lost() override { return lost_; }
  Status peer_status(std::uint32_t peer) override;
  void give_up(Link with, std::uint64_t sequence) override {
    if (streams_[with.peer]) streams_[with.peer]->give_up(with.channel, sequence);
  }
  bool has_given_up(Link with, std::uint64_t sequence) override {
    return streams_[with.peer] && streams_[with.peer]->has_given_up(with.channel, sequence);
  }
  Result<std::byte*> allocate(std::size_t size) override;
  void deallocate(std::byte* memory) override;

 protected:
  // Before the first use; the rank itself has none. `hidden`: take_change() does not tell of all changes.
  void set_streams(std::uint32_t peer, std::unique_ptr<PairStreams> streams, bool hidden);
  void drop_streams() { streams_.clear(); }
  // What this rank shares with the ranks of its machine; it outlives the streams.
  void share(ShmSelf& self) { shared_ = &self; }
  // Adds what else to sleep on.
  virtual Instant watch_others(std::vector<pollfd>& /*watched*/) { return kNever; }

 private:
  void note(const PairStreams& streams) { lost_ = lost_ || !streams.status().ok(); }
  bool take_change();
  bool looks_again(Instant until);
  void sleep(Instant until);

  std::vector<std::unique_ptr<PairStreams>> streams_;  // By peer.
  FileDescriptor wake_fd_;
  std::atomic<bool> woken_{false};
  const Spin spin_;
  const Duration spin_time_;
  ShmSelf* shared_ = nullptr;
  bool hidden_ = false;  // Some streams' changes are.
  bool lost_ = false;    // Some peer.
  bool moved_ = false;   // Bytes have moved since the last wait().
  bool idle_ = false;    // They had not before, since:
  Instant idle_since_{};
  std::map<std::byte*, std::unique_ptr<std::byte, void (*)(void*)>> memory_;
  std::map<std::uint16_t, std::byte*> staging_;  // By channel; in shared_.
  std::vector<pollfd> watched_;
  std::vector<std::size_t> begins_;  // In watched_, by peer.
};

}  // namespace thalweg
