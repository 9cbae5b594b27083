// A thread of the test for each rank of a group.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/socket/reserved_port_for_test.h"
#include "thalweg/group.h"

namespace thalweg {

// Runs `body` on a thread for each rank, each with a group that `join` makes there; returns what went wrong.
inline std::string on_ranks(std::uint32_t ranks, const std::function<Result<Group>(std::uint32_t rank)>& join,
                            const std::function<std::string(Group& group)>& body) {
  std::mutex mutex;
  std::string wrong;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      Result<Group> group = join(rank);
      const std::string found = group ? body(*group) : group.status().message();
      const std::lock_guard lock(mutex);
      if (!found.empty()) wrong += "rank " + std::to_string(rank) + ": " + found + "\n";
    });
  }
  for (std::thread& thread : threads) thread.join();
  return wrong;
}

inline std::string on_threads(std::uint32_t ranks, const std::function<std::string(Group& group)>& body) {
  std::vector<Group> groups = Group::in_process(ranks);
  return on_ranks(
      ranks, [&groups](std::uint32_t rank) -> Result<Group> { return std::move(groups[rank]); }, body);
}

// Ranks that meet as processes do, at a port of their own. Its number and each rank's are set here.
inline std::string on_joined(GroupOptions options, const std::function<std::string(Group& group)>& body) {
  options.master_port = port_for_this_test();
  const auto join = [&options](std::uint32_t rank) {
    GroupOptions mine = options;
    mine.rank = rank;
    return Group::join(mine);
  };
  return on_ranks(options.size, join, body);
}

inline std::string on_joined(std::uint32_t ranks, GroupTransport transport,
                             const std::function<std::string(Group& group)>& body) {
  GroupOptions options;
  options.size = ranks;
  options.transport = transport;
  return on_joined(options, body);
}

}  // namespace thalweg
