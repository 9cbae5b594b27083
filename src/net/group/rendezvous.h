// A rendezvous over sockets: the leader's acceptor, and the calls of the others.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/instant.h"
#include "group/rendezvous.h"
#include "net/group/group_acceptor.h"
#include "net/group/group_message.h"
#include "thalweg/status.h"

namespace thalweg {

struct Meeting {
  GroupTable table;
  std::uint32_t rank = 0;  // This process's; the same as before where none is missing.
};

// This process as others shall know it, but for where it listens.
Member describe_this_process(std::uint32_t rank, std::uint32_t size, std::string group);
// Whether both are one process, whatever their ranks.
bool is_same_process(const Member& one, const Member& other);

struct Venue {
  bool anew = false;   // See Rendezvous.
  GroupNonce nonce{};  // Of the group that they were in before; zero at first.
  Instant deadline{};
  // Where `leader` is called; not asked for this rank's own.
  std::function<std::pair<std::string, std::uint16_t>(std::uint32_t leader)> where{};
  std::function<void(Rendezvous&)> news{};  // Who is out by now.
};

// Meets the others: leads them, who call at `acceptor`, or calls their leader. Callers that do not belong are
// told why and disturb nobody. Errors: kTimeout, naming the ranks that have not come, at this rank and at
// those that have; kRefused: the leader's reason, or the group has formed anew without this rank.
Result<Meeting> meet(GroupAcceptor& acceptor, Member self, const Venue& venue);

}  // namespace thalweg
