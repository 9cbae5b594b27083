// Another rank on the same machine: a stream each way and channel through shared memory, the peer's group
// memory, its doorbell, and the socket whose closing is its death.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/pair_streams.h"
#include "net/shm/process_memory.h"
#include "net/shm/shm_arena.h"
#include "net/shm/shm_hello.h"
#include "net/shm/shm_memory.h"
#include "net/shm/shm_ring.h"
#include "net/socket/file_descriptor.h"
#include "thalweg/status.h"

namespace thalweg {

struct ShmOptions {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;                          // Of the group.
  std::size_t ring_bytes = std::size_t{256} << 10;  // A power of two, as the next.
  std::size_t first_ring_bytes = 0;                 // Of channel 0. 0: as the others.
  std::size_t arena_bytes = 0;                      // 0: ShmArena::default_capacity().
  std::function<Result<ShmCredentials>(int socket)> credentials = peer_credentials;
  // Null: this rank reads no peer's memory.
  std::function<ssize_t(pid_t process, std::uint64_t address, std::byte* into, std::size_t size)>
      read_memory = read_process_memory;
};

// What a rank shares with all its peers. Outlives them.
class ShmSelf {
 public:
  static Result<std::unique_ptr<ShmSelf>> create(ShmOptions options);
  const ShmOptions& options() const { return options_; }
  ShmArena& arena() { return arena_; }
  const ShmArena& arena() const { return arena_; }
  // Readable when a peer wakes this rank. Whoever sleeps on streams watches it, once for all peers.
  int bell_fd() const { return bell_.get(); }
  void silence();  // After bell_fd() was found readable.
  // What peers find out by whether they can read this process.
  const std::uint64_t& word() const { return word_; }

 private:
  ShmSelf() = default;
  ShmOptions options_;
  ShmArena arena_;
  FileDescriptor bell_;
  std::uint64_t word_ = 0;
};

class ShmPeer final : public PairStreams {
 public:
  // Greets the peer, who does the same at its end of `socket`, a connected Unix stream socket all of whose
  // earlier bytes have been read. All ranks meet their peers in the order of their ranks, so that nobody
  // waits in a circle; and one by one, since the system lets few descriptors be under way. kRefused: another
  // user's process.
  static Result<std::unique_ptr<ShmPeer>> meet(FileDescriptor socket, ShmSelf& self, std::uint32_t peer,
                                               Duration timeout);
  // Its halves: what this rank sends, which never waits, and what it receives.
  static Result<std::unique_ptr<ShmPeer>> begin(FileDescriptor socket, ShmSelf& self, std::uint32_t peer);
  Status finish(Duration timeout);  // Precondition of all that follows.
  // Says goodbye, so that the peer can tell this from a crash.
  ~ShmPeer() override;
  ShmPeer(const ShmPeer&) = delete;
  ShmPeer& operator=(const ShmPeer&) = delete;

  // What a lost peer wrote before can still be read.
  std::size_t write(std::uint16_t channel, std::span<const Piece> pieces) override;
  bool write_whole(std::uint16_t channel, std::span<const Piece> pieces) override;
  Piece peek(std::uint16_t channel, std::size_t want) override;
  Piece peek_soon(std::uint16_t channel, std::size_t want, const Spin& spin,
                  const std::atomic<bool>& woken) override;
  void consume(std::uint16_t channel, std::size_t bytes) override;
  void give_up(std::uint16_t channel, std::uint64_t sequence) override;
  bool has_given_up(std::uint16_t channel, std::uint64_t sequence) override;
  std::size_t read(std::uint16_t channel, std::byte* into, std::size_t size) override;
  std::byte* shared_by(std::uint64_t offset, std::size_t size) override { return arena_.at(offset, size); }
  bool can_fetch() const override { return can_fetch_; }
  bool fetch(std::uint64_t address, std::byte* into, std::size_t size) override;

  bool take_change() override;
  bool before_sleep(std::vector<pollfd>& watched) override;
  void after_sleep(std::span<const pollfd> watched) override;
  const Status& status() const override { return status_; }

 private:
  struct Outbox;
  struct RingSizes {
    std::size_t first = 0;  // Of channel 0.
    std::size_t others = 0;
    std::size_t of(std::uint16_t channel) const { return channel == 0 ? first : others; }
    std::size_t begin(std::uint16_t channel) const {
      return channel == 0 ? 0 : first + (channel - std::size_t{1}) * others;
    }
  };
  // The channels in use, packed, so that a look at all of them is short.
  template <class Ring>
  struct ByChannel {
    std::vector<Ring> rings;
    std::vector<std::uint16_t> place;  // By channel: its ring's plus 1, or 0.
    template <class Make>
    Ring& at(std::uint16_t channel, const Make& make) {
      if (channel >= place.size()) place.resize(channel + std::size_t{1});
      if (place[channel] == 0) {
        rings.push_back(make());
        place[channel] = static_cast<std::uint16_t>(rings.size());
      }
      return rings[place[channel] - std::size_t{1}];
    }
  };
  ShmPeer(FileDescriptor socket, ShmSelf& self, std::uint32_t peer);

  ShmRingReader& reader(std::uint16_t channel);
  ShmRingWriter& writer(std::uint16_t channel);
  Status adopt(const ShmHello& hello, ShmDescriptors descriptors);
  std::string name() const;
  void look_at_socket();
  void lose(const std::string& why);
  void lose_damaged(std::uint16_t channel, const char* what, std::uint64_t found, std::uint64_t own);

  FileDescriptor socket_;
  ShmSelf& self_;
  std::uint32_t peer_;
  std::uint32_t process_ = 0;
  ShmMemory outbox_;
  ShmMemory inbox_;  // The peer's outbox.
  ShmMemory arena_;  // The peer's.
  FileDescriptor peer_bell_;
  std::unique_ptr<ShmDoorbell> bell_;
  RingSizes outbox_rings_;
  RingSizes inbox_rings_;
  ByChannel<ShmRingReader> readers_;
  ByChannel<ShmRingWriter> writers_;
  bool can_fetch_ = false;
  Status status_;
  bool loss_untold_ = false;
};

}  // namespace thalweg
