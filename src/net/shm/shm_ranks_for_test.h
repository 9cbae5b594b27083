// Ranks as processes of their own, each connected to each by a Unix socket.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "net/shm/shm_fabric.h"

namespace thalweg {

constexpr Duration kLong{60'000'000'000};

// sockets[r][s] is rank r's end of its connection to rank s.
using SocketMesh = std::vector<std::vector<FileDescriptor>>;

inline SocketMesh make_socket_mesh(std::uint32_t ranks) {
  SocketMesh mesh(ranks);
  for (auto& row : mesh) row.resize(ranks);
  for (std::uint32_t a = 0; a < ranks; ++a) {
    for (std::uint32_t b = a + 1; b < ranks; ++b) {
      int ends[2] = {-1, -1};
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
      mesh[a][b] = FileDescriptor(ends[0]);
      mesh[b][a] = FileDescriptor(ends[1]);
    }
  }
  return mesh;
}

class ShmRanks {
 public:
  // Returns "" when all is well, or what is not.
  using Main = std::function<std::string(std::uint32_t rank, std::vector<FileDescriptor> sockets)>;

  // Forks all ranks but those in the parent, whose sockets it keeps.
  ShmRanks(std::uint32_t ranks, const Main& main, std::uint32_t in_parent = 0)
      : mesh_(make_socket_mesh(ranks)) {
    std::fflush(nullptr);
    for (std::uint32_t rank = in_parent; rank < ranks; ++rank) {
      const pid_t child = ::fork();
      if (child == 0) run(rank, main);
      children_.push_back(child);
    }
    for (std::uint32_t rank = in_parent; rank < ranks; ++rank) mesh_[rank].clear();
  }
  ~ShmRanks() {
    for (const pid_t child : children_) {
      ::kill(child, SIGCONT);
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }

  std::vector<FileDescriptor> sockets(std::uint32_t rank) { return std::move(mesh_[rank]); }
  pid_t process(std::size_t child) const { return children_[child]; }
  // How many ended well.
  int join() {
    int well = 0;
    for (const pid_t child : children_) {
      int how = 0;
      ::waitpid(child, &how, 0);
      well += WIFEXITED(how) && WEXITSTATUS(how) == 0 ? 1 : 0;
    }
    children_.clear();
    return well;
  }

 private:
  [[noreturn]] void run(std::uint32_t rank, const Main& main) {
    std::vector<FileDescriptor> sockets = std::move(mesh_[rank]);
    mesh_.clear();
    const std::string wrong = main(rank, std::move(sockets));
    if (!wrong.empty()) std::fprintf(stderr, "rank %u: %s\n", rank, wrong.c_str());
    std::fflush(nullptr);
    ::_exit(wrong.empty() ? 0 : 1);
  }

  SocketMesh mesh_;
  std::vector<pid_t> children_;
};

inline ShmOptions small_options(std::uint32_t rank, std::uint32_t ranks) {
  ShmOptions options;
  options.rank = rank;
  options.ranks = ranks;
  options.ring_bytes = 65536;
  options.arena_bytes = std::size_t{64} << 20;
  return options;
}

// The byte at a place of the stream that `rank` sends on `channel`.
inline std::byte stream_byte(std::uint32_t rank, std::uint16_t channel, std::uint64_t at) {
  return static_cast<std::byte>((at * 2654435761u >> 9) + rank * 17 + channel * 5);
}

}  // namespace thalweg
