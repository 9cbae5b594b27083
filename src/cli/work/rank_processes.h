// The ranks of one program on this machine, as thalweg run starts, watches and ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "thalweg/status.h"

namespace thalweg {

struct RankLaunch {
  std::vector<std::string> command;  // A program, looked for in PATH, and its arguments.
  std::uint32_t ranks = 1;           // On this machine.
  std::uint32_t nodes = 1;           // Machines, each with as many ranks.
  std::uint32_t node = 0;            // Which one this is.
  std::string master_host = "127.0.0.1";
  std::uint16_t master_port = 0;
  std::string transport = "auto";         // Of the groups that they join.
  bool insecure_no_auth = false;          // They may listen where other machines reach them.
  std::string secret_file;                // Of these groups; empty: the user's own.
  int inherited = -1;                     // A descriptor that the ranks get, or none.
  std::uint16_t own_port = 0;             // Where Thalweg's groups meet; 0: at the master's.
  int listener = -1;                      // That listens there, which rank 0 gets, or none.
  bool label = false;                     // Begin each line of output with the rank.
  std::chrono::milliseconds grace{5000};  // From SIGTERM to SIGKILL.
};

struct RanksEnd {
  int exit_code = 0;   // Of the first rank that failed; 128 and the signal where one ended it.
  std::string failed;  // Which rank, and how; empty when all ended well.
};

// Runs all ranks to their end. Half a second after one has failed, or when `stop` is set, the others get
// SIGTERM and after the grace SIGKILL. Whatever they have started ends with them, or with this process if
// that ends first, see cli/guardian.h. Output goes to the two streams. Precondition: one thread.
Result<RanksEnd> run_ranks(const RankLaunch& launch, const std::atomic<bool>& stop, std::FILE* results,
                           std::FILE* words);

}  // namespace thalweg
