// Servers that are started on this machine for a job that runs, and outlive whoever started them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "thalweg/node.h"
#include "thalweg/status.h"

namespace thalweg {

struct LateServer {
  std::uint32_t server = 0;  // Its number in the job.
  std::uint32_t pid = 0;
  std::string part;  // What it has got, in the scheduler's words.
};

struct LateServers {
  std::vector<LateServer> servers;
  std::chrono::nanoseconds took{};
};

// Starts `count` of them, `thalweg node server` with these words behind it, and waits until each has its part
// of the key ranges, for at most `node.patience`. Errors: kUsage, kIo; kRefused: one of them was turned away;
// kTimeout: no scheduler has answered, or they go on joining.
Result<LateServers> start_late_servers(const NodeOptions& node, std::uint32_t count,
                                       const std::vector<std::string>& words);

}  // namespace thalweg
