// How ranks that know one address meet: one rank leads and is called by the others; when all have come it
// tells each who and where they are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "net/group_door.h"
#include "net/group_message.h"
#include "thalweg/status.h"

namespace thalweg {

// Who may come to a meeting, and when it is complete.
struct Gathering {
  GroupNonce nonce{};                           // Of the group that they were in before; zero at first.
  std::vector<std::uint32_t> expected;          // Besides the leader.
  std::function<bool(std::uint32_t)> is_out{};  // Is expected no longer.
  bool goes_on_without = false;                 // At the deadline with those who are there, else not at all.
  Instant deadline{};
};

struct Meeting {
  GroupTable table;
  std::uint32_t rank = 0;  // This process's; the same as before where none is missing.
};

// This process as others shall know it, but for where it listens.
Member describe_this_process(std::uint32_t rank, std::uint32_t size, std::string group);
void set_address(Member& member, const GroupDoor& door);

// Callers that do not belong are told why and disturb nobody. kTimeout names the ranks that have not come, to
// this rank and to those that have.
Result<Meeting> lead(GroupDoor& door, const Member& self, const Gathering& gathering);

// Joins the meeting that `leader` leads at host:port, calling until the deadline or until it is out; this
// rank is called at `door`. kRefused: the leader's reason.
struct Invitation {
  std::uint32_t leader = 0;
  std::string host;
  std::uint16_t port = 0;
  GroupNonce nonce{};
  Instant deadline{};
  std::function<bool()> is_out{};
};
Result<Meeting> join(const Invitation& invitation, Member self, const GroupDoor& door);

}  // namespace thalweg
