// How a rank joins a group.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "thalweg/status.h"

namespace thalweg {

enum class GroupTransport : std::uint8_t {
  kAuto,  // Shared memory between processes of one user and machine, TCP elsewhere.
  kShm,   // An error where it cannot be.
  kTcp,
  kUcx,  // For all ranks or none; kUsage where UCX is not installed.
};

struct GroupOptions {
  std::uint32_t rank = 0;                 // Below `size`; each once.
  std::uint32_t size = 1;                 // Ranks of the group.
  std::string master_host = "127.0.0.1";  // Where rank 0 listens and the others call.
  std::uint16_t master_port = 29500;
  // Rank 0: a socket that already listens there, which whoever started the ranks holds and hands down, so
  // that nobody else can. It is left as it was when the group ends. -1: rank 0 listens itself.
  int listener = -1;
  std::string group = "default";  // The same for all ranks; others are refused.
  // For the group to form, and for each of its operations.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);
  // For a rank to say what it is doing, before it counts as stopped.
  std::chrono::nanoseconds patience = std::chrono::seconds(1);
  GroupTransport transport = GroupTransport::kAuto;
  // The group's secret, which all ranks must have: 32 hexadecimal digits that only the file's owner can use.
  // Empty: that of this user on this machine; with `insecure_no_auth` none, and whoever calls can join.
  std::string secret_file;
  // Accepts that other machines can reach what listens: who is on the way can read and change what ranks
  // exchange, and join as well where there is no secret. Rank 0 warns of it.
  bool insecure_no_auth = false;
  std::function<void(const std::string& line)> log;  // Takes warnings; empty: standard error.
  // Ranks of one machine may read each other's vectors out of memory that they do not share, where the system
  // allows it (process_vm_readv); else all go through memory that they do.
  bool reads_memory = true;
  // Before sleeping; never where ranks outnumber cores.
  std::chrono::nanoseconds spin = std::chrono::microseconds(50);
  // What this machine's transports and cores take, as `thalweg topo bench --costs` writes it, by which routes
  // are chosen; all ranks go by what the lowest one of each machine has. Empty: what one machine took.
  std::string costs_file;
  int socket_buffer_bytes = 0;  // Of TCP. 0: 2 MiB on loopback, elsewhere as the system has it.
};

// Options as launchers put them into the environment: thalweg run and torchrun (RANK, WORLD_SIZE,
// MASTER_ADDR, MASTER_PORT), Open MPI and PMIx (OMPI_COMM_WORLD_*, PMIX_RANK), Slurm (SLURM_PROCID,
// SLURM_NTASKS, the first host of SLURM_NODELIST); and THALWEG_MASTER_PORT, which goes before MASTER_PORT,
// with rank 0's THALWEG_LISTENER, THALWEG_TRANSPORT, THALWEG_COSTS_FILE, THALWEG_SECRET_FILE and
// THALWEG_INSECURE_NO_AUTH=1, as thalweg run or who starts it sets them. `variable` looks one up, null when
// it is not set: std::getenv does. Without any of them: a group of one. Errors: kConfig, naming the variable.
Result<GroupOptions> group_options_from(const std::function<const char*(const char* name)>& variable);

}  // namespace thalweg
