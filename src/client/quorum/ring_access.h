// What nodes and clients of a ring of versioned values share: who is on it, and how to be heard there.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "net/tcp/tcp.h"
#include "quorum/version.h"
#include "thalweg/quorum.h"

namespace thalweg {

// kUsage: there is no node, one has no address, or two have the same.
Status check(const QuorumRing& ring);
// An option, by its full name.
struct RingTime {
  const char* what;
  Duration time;
};
// kUsage: one is not more than 0, or above the most.
Status check_times(std::span<const RingTime> times, Duration most);
Result<Secret> ring_secret(const QuorumRing& ring, bool is_node);
TcpOptions ring_tcp(const QuorumRing& ring, const Secret& secret);
// By chance, at least 1: a name that no other client has, a life that no other process has.
std::uint32_t drawn_number();

// What has been seen of a key, as text: "KEY/" and "NODE.LIFE:COUNT" for each actor, with commas. Empty:
// nothing.
std::string context_text(Key key, const VectorClock& clock);
// kUsage: it is of another key, or names a node that a ring of so many has not.
Result<VectorClock> parse_context(std::string_view text, Key key, std::size_t nodes);

// The message, and where the nodes are that it names.
Status with_addresses(const Status& status, const QuorumRing& ring);

}  // namespace thalweg
