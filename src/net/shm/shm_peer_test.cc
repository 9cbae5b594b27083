// Peers that are refused, die, stop or store garbage.
#include "net/shm/shm_peer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "base/limits.h"
#include "net/shm/shm_fabric.h"
#include "net/shm/shm_ranks_for_test.h"

namespace thalweg {
namespace {

using Made = Result<std::unique_ptr<ShmFabric>>;

Made make(std::uint32_t rank, std::vector<FileDescriptor> sockets) {
  const auto ranks = static_cast<std::uint32_t>(sockets.size());
  return ShmFabric::create(small_options(rank, ranks), std::move(sockets), kLong, false);
}

// Both ends in this process.
struct Two {
  ShmOptions options[2] = {small_options(0, 2), small_options(1, 2)};
  std::unique_ptr<ShmSelf> self[2];
  std::unique_ptr<ShmPeer> peer[2];
  SocketMesh mesh = make_socket_mesh(2);
  Status status;

  bool meet() {
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      auto made = ShmSelf::create(options[rank]);
      if (!made) return fail(made.status());
      self[rank] = *std::move(made);
      auto begun = ShmPeer::begin(std::move(mesh[rank][1 - rank]), *self[rank], 1 - rank);
      if (!begun) return fail(begun.status());
      peer[rank] = *std::move(begun);
    }
    for (const auto& one : peer) {
      if (Status met = one->finish(kLong); !met.ok()) return fail(met);
    }
    return true;
  }
  bool fail(const Status& why) {
    status = why;
    return false;
  }
};

TEST(ShmPeer, RefusesAnotherUsersProcess) {
  Two two;
  two.options[0].credentials = [](int) { return Result<ShmCredentials>(ShmCredentials{::geteuid() + 5}); };
  ASSERT_FALSE(two.meet());
  EXPECT_EQ(two.status.code(), Code::kRefused);
  const std::string& message = two.status.message();
  EXPECT_NE(message.find("rank 1 runs as user " + std::to_string(::geteuid() + 5)), std::string::npos)
      << message;
  EXPECT_NE(message.find("this rank as user " + std::to_string(::geteuid())), std::string::npos) << message;
}

TEST(ShmPeer, FetchesFromAPeerThatItCanRead) {
  Two two;
  ASSERT_TRUE(two.meet()) << two.status.message();
  ASSERT_TRUE(two.peer[0]->can_fetch() && two.peer[1]->can_fetch()) << "process_vm_readv is not allowed here";
  std::vector<std::byte> there(100'000, std::byte{7}), here(there.size());
  const auto address = reinterpret_cast<std::uintptr_t>(there.data());
  EXPECT_TRUE(two.peer[0]->fetch(address, here.data(), here.size()));
  EXPECT_EQ(here, there);
  EXPECT_FALSE(two.peer[0]->fetch(16, here.data(), here.size())) << "there is nothing";
  EXPECT_FALSE(two.peer[0]->fetch(~std::uint64_t{0} - 8, here.data(), here.size()));
}

// Nothing but what such a system says tells that it does not let this rank read others.
TEST(ShmPeer, FetchesNothingFromAPeerThatItCannotRead) {
  using Read = decltype(ShmOptions::read_memory);
  const Read refused = [](pid_t, std::uint64_t, std::byte*, std::size_t) -> ssize_t { return -1; };
  const Read cut = [](pid_t, std::uint64_t, std::byte*, std::size_t size) {
    return static_cast<ssize_t>(size) - 1;
  };
  const Read another = [](pid_t, std::uint64_t, std::byte*, std::size_t size) {
    return static_cast<ssize_t>(size);
  };
  for (const Read& read : {Read(), refused, cut, another}) {
    Two two;
    two.options[0].read_memory = read;
    ASSERT_TRUE(two.meet()) << two.status.message();
    EXPECT_FALSE(two.peer[0]->can_fetch());
    EXPECT_TRUE(two.peer[1]->can_fetch());
  }
}

TEST(ShmPeer, RefusesPeersThatExpectSomethingElse) {
  Two rank, ranks;
  rank.options[1].rank = 0;
  EXPECT_FALSE(rank.meet());
  EXPECT_EQ(rank.status.code(), Code::kRefused);
  EXPECT_NE(rank.status.message().find("its rank is 0 instead of 1"), std::string::npos)
      << rank.status.message();
  ranks.options[1].ranks = 3;
  EXPECT_FALSE(ranks.meet());
  EXPECT_NE(ranks.status.message().find("number of ranks is 3 instead of 2"), std::string::npos);
}

// Rank 0 comes last, so that all others would have greeted each other long before anybody could listen; the
// system lets a user's processes have no more descriptors under way than one may have open.
TEST(ShmPeer, ManyRanksNeedFewDescriptorsUnderWay) {
  constexpr std::uint32_t kRanks = 12;
  int gate[2] = {-1, -1};
  ASSERT_EQ(::pipe2(gate, O_CLOEXEC), 0);
  FileDescriptor opened(gate[0]), opener(gate[1]);
  ShmRanks ranks(kRanks, [&](std::uint32_t rank, std::vector<FileDescriptor> sockets) -> std::string {
    opener.reset();
    const rlimit few{100, 100};
    if (::setrlimit(RLIMIT_NOFILE, &few) != 0) return "no limit";
    constexpr uid_t kNotRoot = 54321;  // Whom the limit does not bind.
    if (::geteuid() == 0 && ::setresuid(kNotRoot, kNotRoot, kNotRoot) != 0) return "stays root";
    char none = 0;
    if (rank == 0 && ::read(opened.get(), &none, 1) != 0) return "not let in";
    ShmOptions options = small_options(rank, kRanks);
    options.credentials = [](int) { return Result<ShmCredentials>(ShmCredentials{::geteuid()}); };
    const Made made = ShmFabric::create(std::move(options), std::move(sockets), kLong, true);
    return made ? "" : made.status().message();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  opener.reset();
  EXPECT_EQ(ranks.join(), static_cast<int>(kRanks));
}

// Rank 1 greets nobody, so that rank 0 waits for it and rank 2 for rank 0.
TEST(ShmPeer, OneThatWaitsForAnotherIsNotBlamedAlone) {
  SocketMesh mesh = make_socket_mesh(3);
  Status seen[3];
  const auto meet = [&mesh, &seen](std::uint32_t rank) {
    const Duration patience{rank == 0 ? 3'000'000'000 : 1'000'000'000};
    seen[rank] = ShmFabric::create(small_options(rank, 3), std::move(mesh[rank]), patience, true).status();
  };
  std::thread first(meet, 0);
  meet(2);
  first.join();
  EXPECT_EQ(seen[0].code(), Code::kTimeout);
  EXPECT_NE(seen[0].message().find("rank 1: "), std::string::npos) << seen[0].message();
  EXPECT_NE(seen[2].message().find("or it waits for another rank"), std::string::npos) << seen[2].message();
}

TEST(ShmPeer, LacksDescriptorsItselfWhenItCanTakeNone) {
  SocketMesh mesh = make_socket_mesh(2);
  const int some = mesh[0][1].get();
  ASSERT_TRUE(send_hello(some, {}, {some, some, some}).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const FileDescriptor lowest_free(::dup(some));
  const rlimit none_left{static_cast<rlim_t>(lowest_free.get()), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none_left), 0);
  ShmDescriptors descriptors;
  const auto hello = receive_hello(mesh[1][0].get(), kLong, descriptors);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(hello.status().code(), Code::kIo);
  EXPECT_NE(hello.status().message().find("this process has no descriptors left"), std::string::npos)
      << hello.status().message();
}

TEST(ShmPeer, RingsMayDifferInSize) {
  Two two;
  two.options[0].ring_bytes = 4096;
  two.options[1].first_ring_bytes = 131072;
  ASSERT_TRUE(two.meet()) << two.status.message();
  const std::vector<std::byte> bytes(100'000, std::byte{7});
  const Piece piece{bytes.data(), bytes.size()};
  EXPECT_EQ(two.peer[0]->write(3, {&piece, 1}), 4096u);
  EXPECT_EQ(two.peer[1]->write(3, {&piece, 1}), 65536u);
  std::vector<std::byte> into(100'000);
  EXPECT_EQ(two.peer[1]->read(3, into.data(), into.size()), 4096u);
  EXPECT_EQ(two.peer[0]->read(3, into.data(), into.size()), 65536u);
  EXPECT_EQ(two.peer[1]->write(0, {&piece, 1}), 100'000u);
  EXPECT_EQ(two.peer[0]->write(0, {&piece, 1}), 4096u);
  EXPECT_EQ(two.peer[0]->read(0, into.data(), into.size()), 100'000u);
  EXPECT_EQ(two.peer[1]->read(0, into.data(), into.size()), 4096u);
}

// What a hand-made greeting meets.
Status greet(const ShmHello& hello, const std::array<int, 3>& descriptors) {
  SocketMesh mesh = make_socket_mesh(2);
  auto self = ShmSelf::create(small_options(0, 2));
  if (!self) return self.status();
  auto peer = ShmPeer::begin(std::move(mesh[0][1]), **self, 1);
  if (!peer) return peer.status();
  if (Status sent = send_hello(mesh[1][0].get(), hello, descriptors); !sent.ok()) return sent;
  return (*peer)->finish(kLong);
}

TEST(ShmPeer, RefusesMemoryThatIsNotAsSaid) {
  auto outbox = ShmMemory::create("small", 4096);
  ASSERT_TRUE(outbox.ok());
  const FileDescriptor unsealed(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ShmHello hello;
  hello.rank = 1;
  hello.ranks = 2;
  hello.channels = limits::kChannelsMax;
  hello.ring_bytes = hello.first_ring_bytes = 65536;
  struct Case {
    std::array<int, 3> descriptors;
    const char* part;
  };
  const int bell = 0;
  for (const Case& wrong : {Case{{outbox->fd(), outbox->fd(), bell}, "bytes instead of"},
                            Case{{unsealed.get(), outbox->fd(), bell}, "sealed against shrinking"},
                            Case{{0, outbox->fd(), bell}, "sealed against shrinking"}}) {
    const Status refused = greet(hello, wrong.descriptors);
    EXPECT_EQ(refused.code(), Code::kRefused);
    EXPECT_NE(refused.message().find("rank 1"), std::string::npos) << refused.message();
    EXPECT_NE(refused.message().find(wrong.part), std::string::npos) << refused.message();
  }
  for (const std::uint64_t ring : {std::uint64_t{0}, std::uint64_t{65537}, std::uint64_t{1} << 63}) {
    hello.ring_bytes = ring;
    const Status refused = greet(hello, {outbox->fd(), outbox->fd(), bell});
    EXPECT_NE(refused.message().find("power of two"), std::string::npos) << refused.message();
    std::swap(hello.ring_bytes, hello.first_ring_bytes);
    const Status first_refused = greet(hello, {outbox->fd(), outbox->fd(), bell});
    EXPECT_NE(first_refused.message().find("power of two"), std::string::npos) << first_refused.message();
    std::swap(hello.ring_bytes, hello.first_ring_bytes);
  }
}

TEST(ShmPeer, APeerThatHangsUpBeforeItsGreetingIsLost) {
  SocketMesh mesh = make_socket_mesh(2);
  auto self = ShmSelf::create(small_options(0, 2));
  ASSERT_TRUE(self.ok());
  auto peer = ShmPeer::begin(std::move(mesh[0][1]), **self, 1);
  ASSERT_TRUE(peer.ok());
  mesh[1].clear();
  const Status lost = (*peer)->finish(kLong);
  EXPECT_EQ(lost.code(), Code::kPeerLost) << lost.message();
}

TEST(ShmPeer, APeerThatHangsUpBeforeItIsGreetedIsLost) {
  SocketMesh mesh = make_socket_mesh(2);
  auto self = ShmSelf::create(small_options(0, 2));
  ASSERT_TRUE(self.ok());
  mesh[1].clear();
  const auto peer = ShmPeer::begin(std::move(mesh[0][1]), **self, 1);
  EXPECT_EQ(peer.status().code(), Code::kPeerLost);
  EXPECT_NE(peer.status().message().find("rank 1: hung up"), std::string::npos) << peer.status().message();
}

// The states in which a peer is killed.
enum class PeerStep {
  kBeforeGreeting,
  kMet,
  kWrotePart,
  kShowsPiece,
  kRoomIsFull,
  kAsleepForBytes,
  kHoldsMemory
};

void reach(PeerStep step, std::vector<FileDescriptor> sockets) {
  if (step == PeerStep::kBeforeGreeting) return;
  Made made = make(1, std::move(sockets));
  if (!made) return;
  ShmFabric& fabric = **made;
  const std::vector<std::byte> bytes(100'000, std::byte{1});
  const Piece part{bytes.data(), 10}, much{bytes.data(), bytes.size()};
  if (step == PeerStep::kWrotePart) fabric.write({0, 0}, {&part, 1});
  if (step == PeerStep::kShowsPiece) {
    while (fabric.peek({0, 0}, 1).size == 0) fabric.wait(kNever);
  }
  if (step == PeerStep::kRoomIsFull) fabric.write({0, 0}, {&much, 1});
  if (step == PeerStep::kAsleepForBytes) {
    // Rank 0 never writes on channel 5, so this rank is asleep or about to be when the word comes.
    fabric.peek({0, 5}, 1);
    std::thread(::raise, SIGKILL).detach();
    fabric.wait(kNever);
  }
  if (step == PeerStep::kHoldsMemory && fabric.allocate(1'000'000).ok()) fabric.write({0, 0}, {&part, 1});
  ::raise(SIGKILL);  // Before the destructor's goodbye.
}

TEST(ShmPeer, DeathIsNoticedAtEachStep) {
  for (const PeerStep step :
       {PeerStep::kBeforeGreeting, PeerStep::kMet, PeerStep::kWrotePart, PeerStep::kShowsPiece,
        PeerStep::kRoomIsFull, PeerStep::kAsleepForBytes, PeerStep::kHoldsMemory}) {
    ShmRanks group(
        2,
        [step](std::uint32_t, std::vector<FileDescriptor> sockets) -> std::string {
          reach(step, std::move(sockets));
          ::raise(SIGKILL);
          return "still there";
        },
        1);
    Made made = make(0, group.sockets(0));
    if (step == PeerStep::kBeforeGreeting) {
      EXPECT_EQ(made.status().code(), Code::kPeerLost) << made.status().message();
      continue;
    }
    if (!made) {  // It may die before it has read this rank's greeting.
      EXPECT_EQ(made.status().code(), Code::kPeerLost) << made.status().message();
      continue;
    }
    ShmFabric& fabric = **made;
    const std::byte byte{};
    const Piece one{&byte, 1};
    fabric.write({1, 0}, {&one, 1});
    while (fabric.peer_status(1).ok()) {
      fabric.peek({1, 3}, 1);
      fabric.wait(live_now() + kLong);
    }
    const Status lost = fabric.peer_status(1);
    EXPECT_EQ(lost.code(), Code::kPeerLost);
    EXPECT_NE(lost.message().find("rank 1 (process " + std::to_string(group.process(0)) + ")"),
              std::string::npos);
    EXPECT_NE(lost.message().find("killed or crashed"), std::string::npos) << lost.message();
    EXPECT_EQ(fabric.write({1, 0}, {&one, 1}), 0u);
    std::vector<std::byte> into(200'000);
    const std::size_t left = fabric.read({1, 0}, into.data(), into.size());
    const bool wrote = step == PeerStep::kWrotePart || step == PeerStep::kHoldsMemory;
    EXPECT_EQ(left, step == PeerStep::kRoomIsFull ? 65536u
                    : wrote                       ? 10u
                                                  : 0u)
        << "what was written before stays";
  }
}

TEST(ShmPeer, AKillAtAnyPointLeavesWholeBytes) {
  std::minstd_rand random(11);
  for (int round = 0; round < 12; ++round) {
    ShmRanks group(
        2,
        [](std::uint32_t, std::vector<FileDescriptor> sockets) -> std::string {
          Made made = make(1, std::move(sockets));
          std::vector<std::byte> bytes(40'000);
          for (std::uint64_t at = 0; made.ok();) {
            for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = stream_byte(1, 0, at + i);
            const Piece piece{bytes.data(), bytes.size()};
            const std::size_t taken = (*made)->write({0, 0}, {&piece, 1});
            at += taken;
            if (taken == 0) (*made)->wait(kNever);
          }
          return made.status().message();
        },
        1);
    Made made = make(0, group.sockets(0));
    ASSERT_TRUE(made.ok()) << made.status().message();
    ShmFabric& fabric = **made;
    std::vector<std::byte> into(30'000);
    const std::uint64_t killed_at = random() % 500'000;
    std::uint64_t at = 0;
    bool killed = false;
    while (true) {
      const bool lost = !fabric.peer_status(1).ok();
      const std::size_t got = fabric.read({1, 0}, into.data(), into.size());
      for (std::size_t i = 0; i < got; ++i) ASSERT_EQ(into[i], stream_byte(1, 0, at + i)) << at + i;
      at += got;
      if (got == 0 && lost) break;
      if (got == 0) fabric.wait(kNever);
      if (at >= killed_at && !killed) {
        killed = true;
        ::kill(group.process(0), SIGKILL);
      }
    }
    EXPECT_GE(at, killed_at);
  }
}

TEST(ShmPeer, AGoodbyeIsToldFromACrash) {
  Two two;
  ASSERT_TRUE(two.meet()) << two.status.message();
  two.peer[1].reset();
  std::vector<pollfd> watched;
  ASSERT_TRUE(two.peer[0]->before_sleep(watched));
  ASSERT_EQ(::poll(watched.data(), watched.size(), -1), 1);
  two.peer[0]->after_sleep(watched);
  EXPECT_NE(two.peer[0]->status().message().find("left the group"), std::string::npos);
  EXPECT_TRUE(two.peer[0]->take_change());
  EXPECT_FALSE(two.peer[0]->take_change()) << "it is told once";
}

TEST(ShmPeer, AStoppedPeerIsWaitedForUntilTheDeadline) {
  ShmRanks group(
      2,
      [](std::uint32_t, std::vector<FileDescriptor> sockets) -> std::string {
        Made made = make(1, std::move(sockets));
        if (!made) return made.status().message();
        const std::byte byte{42};
        const Piece one{&byte, 1};
        (*made)->write({0, 0}, {&one, 1});
        ::raise(SIGSTOP);
        (*made)->write({0, 0}, {&one, 1});
        std::byte got{};
        while ((*made)->read({0, 0}, &got, 1) == 0 && (*made)->peer_status(0).ok()) (*made)->wait(kNever);
        return "";
      },
      1);
  Made made = make(0, group.sockets(0));
  ASSERT_TRUE(made.ok()) << made.status().message();
  ShmFabric& fabric = **made;
  int how = 0;
  ::waitpid(group.process(0), &how, WUNTRACED);
  ASSERT_TRUE(WIFSTOPPED(how));
  std::byte got{};
  ASSERT_EQ(fabric.read({1, 0}, &got, 1), 1u);
  ASSERT_EQ(fabric.read({1, 0}, &got, 1), 0u);
  const Instant until = live_now() + Duration(5'000'000);
  while (live_now() < until) fabric.wait(until);
  EXPECT_TRUE(fabric.peer_status(1).ok()) << "stopped is not dead";
  ::kill(group.process(0), SIGCONT);
  while (fabric.read({1, 0}, &got, 1) == 0) fabric.wait(kNever);
  EXPECT_EQ(got, std::byte{42});
  const Piece one{&got, 1};
  fabric.write({1, 0}, {&one, 1});
  EXPECT_EQ(group.join(), 1);
}

// Stores `garbage` wherever a head of rings that this process maps holds `value`.
void store_in_rings(std::uint64_t value, std::uint64_t garbage) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("thalweg-rings") == std::string::npos) continue;
    const auto begin = static_cast<std::uintptr_t>(std::stoull(line, nullptr, 16));
    auto* const words = reinterpret_cast<std::atomic<std::uint64_t>*>(begin);
    for (std::size_t i = 0; i < 64 * std::size_t{limits::kChannelsMax} / sizeof *words; ++i) {
      if (words[i] == value) words[i] = garbage;
    }
  }
}

TEST(ShmPeer, GarbageInAPositionEndsThatPeerWithItsName) {
  Two two;
  ASSERT_TRUE(two.meet()) << two.status.message();
  const std::vector<std::byte> bytes(12'345, std::byte{7});
  const Piece piece{bytes.data(), bytes.size()};
  ASSERT_EQ(two.peer[1]->write(2, {&piece, 1}), bytes.size());
  ASSERT_EQ(two.peer[0]->peek(2, 12'345).size, 12'345u);
  store_in_rings(12'345, 99'999'999);
  EXPECT_TRUE(two.peer[0]->status().ok());
  EXPECT_EQ(two.peer[0]->peek(2, 12'346).size, 0u);
  const Status& lost = two.peer[0]->status();
  EXPECT_EQ(lost.code(), Code::kPeerLost);
  for (const char* part : {"rank 1", "channel 2", "99999999 bytes", "damaged"}) {
    EXPECT_NE(lost.message().find(part), std::string::npos) << lost.message();
  }
  EXPECT_TRUE(two.peer[0]->take_change());
  // The other side learns that it is not listened to any more.
  std::vector<pollfd> watched;
  ASSERT_TRUE(two.peer[1]->before_sleep(watched));
  ::poll(watched.data(), watched.size(), -1);
  two.peer[1]->after_sleep(watched);
  EXPECT_NE(two.peer[1]->status().message().find("dropped it"), std::string::npos);
}

}  // namespace
}  // namespace thalweg
