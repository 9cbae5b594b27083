// Makes a group of processes: they meet, and each pair gets the transport that suits it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/instant.h"
#include "net/live_fabric.h"
#include "thalweg/status.h"

namespace thalweg {

enum class GroupTransport : std::uint8_t {
  kAuto,  // Shared memory between processes of one user and machine, TCP elsewhere.
  kShm,   // An error where it cannot be.
  kTcp,
};
Result<GroupTransport> parse_group_transport(std::string_view name);  // "auto", "shm", "tcp"

struct GroupOptions {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string master_host = "127.0.0.1";  // Where rank 0 listens and the others call.
  std::uint16_t master_port = 29500;
  std::string group = "default";                // The same for all ranks; others are refused.
  Duration timeout = std::chrono::seconds(60);  // For the group to form.
  GroupTransport transport = GroupTransport::kAuto;
  bool insecure_no_auth = false;                  // Accepts that other machines can reach what listens.
  Duration spin = std::chrono::microseconds(50);  // Before sleeping; never where ranks outnumber cores.
  int socket_buffer_bytes = 0;                    // 0: as the system has it.
};

// Blocks until all ranks are there. Errors name the ranks that are missing or why this one was refused.
Result<std::unique_ptr<LiveFabric>> form_group(const GroupOptions& options);

}  // namespace thalweg
