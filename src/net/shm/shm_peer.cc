#include "net/shm/shm_peer.h"

#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/limits.h"
#include "net/socket/event_fd.h"

namespace thalweg {

namespace {

constexpr char kGoodbye = 'b';
constexpr char kDropped = 'd';

}  // namespace

// The head of a rank's rings for one peer; the rings follow, channel after channel.
struct ShmPeer::Outbox {
  alignas(128) std::atomic<std::uint32_t> asleep{0};  // What the owner sleeps for.
  std::array<ShmRingPositions, limits::kChannelsMax> positions;
  // By channel: the first operation that the owner gave up there, its number plus 1.
  std::array<std::atomic<std::uint64_t>, limits::kChannelsMax> given_up{};

  static constexpr std::size_t rings_begin() { return (sizeof(Outbox) + 4095) / 4096 * 4096; }
  static std::size_t size(const RingSizes& rings) {
    return rings_begin() + rings.begin(limits::kChannelsMax);
  }
  static std::byte* ring(const ShmMemory& memory, const RingSizes& rings, std::uint16_t channel) {
    return memory.data() + rings_begin() + rings.begin(channel);
  }
  // All zeros is a valid one.
  static Outbox& in(const ShmMemory& memory) {
    return *std::launder(static_cast<Outbox*>(static_cast<void*>(memory.data())));
  }
};

Result<std::unique_ptr<ShmSelf>> ShmSelf::create(ShmOptions options) {
  std::unique_ptr<ShmSelf> self(new ShmSelf);
  if (options.arena_bytes == 0) options.arena_bytes = ShmArena::default_capacity(options.ranks);
  auto arena = ShmArena::create(options.arena_bytes);
  if (!arena) return arena.status();
  self->arena_ = *std::move(arena);
  self->options_ = std::move(options);
  auto bell = make_event_fd();
  if (!bell) return bell.status();
  self->bell_ = *std::move(bell);
  std::random_device chance;
  self->word_ = std::uint64_t{chance()} << 32 | chance();
  return self;
}

void ShmSelf::silence() {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(bell_.get(), &count, sizeof count);
}

ShmPeer::ShmPeer(FileDescriptor socket, ShmSelf& self, std::uint32_t peer)
    : socket_(std::move(socket)), self_(self), peer_(peer) {}

ShmPeer::~ShmPeer() {
  if (socket_) ::send(socket_.get(), &kGoodbye, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string ShmPeer::name() const {
  return "rank " + std::to_string(peer_) + (process_ ? " (process " + std::to_string(process_) + ")" : "");
}

Result<std::unique_ptr<ShmPeer>> ShmPeer::begin(FileDescriptor socket, ShmSelf& self, std::uint32_t peer) {
  const ShmOptions& options = self.options();
  if (Status same = check_credentials(options.credentials(socket.get()), peer); !same.ok()) return same;
  const std::size_t first = options.first_ring_bytes > 0 ? options.first_ring_bytes : options.ring_bytes;
  const RingSizes rings{first, options.ring_bytes};
  auto outbox = ShmMemory::create("thalweg-rings", Outbox::size(rings));
  if (!outbox) return outbox.status();
  ShmHello hello;
  hello.rank = options.rank;
  hello.ranks = options.ranks;
  hello.process = static_cast<std::uint32_t>(::getpid());
  hello.channels = limits::kChannelsMax;
  hello.ring_bytes = rings.others;
  hello.first_ring_bytes = rings.first;
  hello.arena_bytes = self.arena().memory().size();
  hello.word = self.word();
  hello.word_address = reinterpret_cast<std::uintptr_t>(&self.word());
  const std::array<int, 3> handed{outbox->fd(), self.arena().memory().fd(), self.bell_fd()};
  if (Status sent = send_hello(socket.get(), hello, handed); !sent.ok()) {
    return Status(sent.code(), "rank " + std::to_string(peer) + ": " + sent.message());
  }
  outbox->close_fd();
  std::unique_ptr<ShmPeer> made(new ShmPeer(std::move(socket), self, peer));
  made->outbox_ = *std::move(outbox);
  made->outbox_rings_ = rings;
  return made;
}

Result<std::unique_ptr<ShmPeer>> ShmPeer::meet(FileDescriptor socket, ShmSelf& self, std::uint32_t peer,
                                               Duration timeout) {
  auto made = begin(std::move(socket), self, peer);
  if (!made) return made;
  const Status met = (*made)->finish(timeout);
  if (met.code() == Code::kTimeout) {
    return Status(met.code(), met.message() + "; or it waits for another rank that did not");
  }
  if (!met.ok()) return met;
  return made;
}

Status ShmPeer::finish(Duration timeout) {
  ShmDescriptors descriptors;
  const auto hello = receive_hello(socket_.get(), timeout, descriptors);
  Status status = hello.status();
  if (hello) status = check_hello(*hello, peer_, self_.options().ranks);
  if (status.ok()) status = adopt(*hello, std::move(descriptors));
  if (!status.ok()) status = Status(status.code(), name() + ": " + status.message());
  return status;
}

Status ShmPeer::adopt(const ShmHello& hello, ShmDescriptors descriptors) {
  process_ = hello.process;
  inbox_rings_ = {hello.first_ring_bytes, hello.ring_bytes};
  auto inbox = ShmMemory::adopt(std::move(descriptors.outbox), Outbox::size(inbox_rings_));
  if (!inbox) return inbox.status();
  auto arena = ShmMemory::adopt(std::move(descriptors.arena), hello.arena_bytes);
  if (!arena) return arena.status();
  inbox->close_fd();
  arena->close_fd();
  inbox_ = *std::move(inbox);
  arena_ = *std::move(arena);
  peer_bell_ = std::move(descriptors.bell);
  bell_ = std::make_unique<ShmDoorbell>(Outbox::in(inbox_).asleep, peer_bell_.get());
  std::uint64_t word = ~hello.word;
  void* const into = &word;
  can_fetch_ = fetch(hello.word_address, static_cast<std::byte*>(into), sizeof word) && word == hello.word;
  return {};
}

bool ShmPeer::fetch(std::uint64_t address, std::byte* into, std::size_t size) {
  const auto& read_memory = self_.options().read_memory;
  return read_memory && status_.ok() &&
         read_memory(static_cast<pid_t>(process_), address, into, size) == static_cast<ssize_t>(size);
}

ShmRingReader& ShmPeer::reader(std::uint16_t channel) {
  return readers_.at(channel, [&] {
    THALWEG_CHECK(channel < limits::kChannelsMax && bell_, "a channel of a peer that was met");
    return ShmRingReader(Outbox::in(inbox_).positions[channel], Outbox::ring(inbox_, inbox_rings_, channel),
                         inbox_rings_.of(channel), *bell_);
  });
}

ShmRingWriter& ShmPeer::writer(std::uint16_t channel) {
  return writers_.at(channel, [&] {
    THALWEG_CHECK(channel < limits::kChannelsMax && bell_, "a channel of a peer that was met");
    return ShmRingWriter(Outbox::in(outbox_).positions[channel],
                         Outbox::ring(outbox_, outbox_rings_, channel), outbox_rings_.of(channel), *bell_);
  });
}

void ShmPeer::give_up(std::uint16_t channel, std::uint64_t sequence) {
  THALWEG_CHECK(channel < limits::kChannelsMax && bell_, "a channel of a peer that was met");
  std::uint64_t none = 0;
  Outbox::in(outbox_).given_up[channel].compare_exchange_strong(none, sequence + 1,
                                                                std::memory_order_seq_cst);
}

bool ShmPeer::has_given_up(std::uint16_t channel, std::uint64_t sequence) {
  THALWEG_CHECK(channel < limits::kChannelsMax && bell_, "a channel of a peer that was met");
  const std::uint64_t first = Outbox::in(inbox_).given_up[channel].load(std::memory_order_seq_cst);
  return first != 0 && first <= sequence + 1;
}

std::size_t ShmPeer::write(std::uint16_t channel, std::span<const Piece> pieces) {
  ShmRingWriter& ring = writer(channel);
  if (!status_.ok()) return 0;
  const std::size_t taken = ring.write(pieces);
  if (ring.damaged()) lose_damaged(channel, "read", ring.peer_position(), ring.written());
  return taken;
}

bool ShmPeer::write_whole(std::uint16_t channel, std::span<const Piece> pieces) {
  std::size_t size = 0;
  for (const Piece& piece : pieces) size += piece.size;
  return writer(channel).begin_message(size) && write(channel, pieces) == size;
}

Piece ShmPeer::peek(std::uint16_t channel, std::size_t want) {
  ShmRingReader& ring = reader(channel);
  const Piece piece = ring.peek(want);
  if (ring.damaged()) lose_damaged(channel, "written", ring.peer_position(), ring.consumed());
  return piece;
}

Piece ShmPeer::peek_soon(std::uint16_t channel, std::size_t want, const Spin& spin,
                         const std::atomic<bool>& woken) {
  ShmRingReader& ring = reader(channel);
  Piece piece = ring.peek(want);
  if (piece.size == want) return piece;
  spin.look(kNever, [&] {
    piece = ring.peek(want);
    return !ring.came_up_short() || woken.load(std::memory_order_relaxed);
  });
  return ring.damaged() ? peek(channel, want) : piece;
}

void ShmPeer::consume(std::uint16_t channel, std::size_t bytes) { reader(channel).consume(bytes); }

std::size_t ShmPeer::read(std::uint16_t channel, std::byte* into, std::size_t size) {
  ShmRingReader& ring = reader(channel);
  const std::size_t got = ring.read(into, size);
  if (ring.damaged()) lose_damaged(channel, "written", ring.peer_position(), ring.consumed());
  return got;
}

bool ShmPeer::take_change() {
  bool found = std::exchange(loss_untold_, false);
  const auto look = [&found](auto& ring) {
    if (!ring.changed()) return;
    ring.forget_shortage();
    found = true;
  };
  for (ShmRingReader& ring : readers_.rings) look(ring);
  for (ShmRingWriter& ring : writers_.rings) look(ring);
  return found;
}

bool ShmPeer::before_sleep(std::vector<pollfd>& watched) {
  if (!status_.ok()) return !take_change();
  watched.push_back({socket_.get(), POLLIN, 0});
  for (ShmRingReader& ring : readers_.rings) ring.tell_room();
  std::uint32_t wants = 0;
  for (const ShmRingReader& ring : readers_.rings) wants |= ring.came_up_short() ? kWantsBytes : 0;
  for (const ShmRingWriter& ring : writers_.rings) wants |= ring.came_up_short() ? kWantsRoom : 0;
  if (wants != 0) Outbox::in(outbox_).asleep.store(wants, std::memory_order_seq_cst);
  return !take_change();
}

void ShmPeer::after_sleep(std::span<const pollfd> watched) {
  if (watched.empty()) return;
  Outbox::in(outbox_).asleep.store(0, std::memory_order_relaxed);
  if (watched[0].revents != 0) look_at_socket();
}

void ShmPeer::look_at_socket() {
  if (!status_.ok()) return;
  char byte = 0;
  const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose("ended without a goodbye: it was killed or crashed");
  if (byte == kGoodbye) return lose("left the group");
  lose(byte == kDropped ? "found that this rank had damaged the memory they share, and dropped it"
                        : "sent what it should not: the connection is not used any more");
}

void ShmPeer::lose(const std::string& why) {
  if (!status_.ok()) return;
  status_ = Status(Code::kPeerLost, name() + " " + why);
  loss_untold_ = true;
  ::shutdown(socket_.get(), SHUT_RDWR);
}

void ShmPeer::lose_damaged(std::uint16_t channel, const char* what, std::uint64_t found, std::uint64_t own) {
  if (!status_.ok()) return;
  ::send(socket_.get(), &kDropped, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  lose("damaged the memory it shares: it says that " + std::to_string(found) + " bytes of channel " +
       std::to_string(channel) + " are " + what + ", which cannot be after " + std::to_string(own));
}

}  // namespace thalweg
