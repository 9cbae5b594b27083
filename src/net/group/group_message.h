// What the ranks of a group tell each other before their streams begin.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/machine_costs.h"
#include "thalweg/status.h"

namespace thalweg {

inline constexpr std::uint16_t kGroupWireVersion = 4;

// Drawn anew for each group that forms, so that no connection meant for another is taken for one of its own.
using GroupNonce = std::array<std::uint64_t, 2>;

// The first bytes of every connection of a group: who calls, and what for.
struct Opening {
  static constexpr std::size_t kBytes = 64;
  static constexpr std::uint32_t kBodyBytesMax = 4096;
  enum class Kind : std::uint8_t {
    kJoin,     // A rank wants to be in the group; a Member follows and a table or refusal comes back.
    kStream,   // One channel between two ranks.
    kControl,  // What ranks tell each other besides.
    kLocal,    // Sets up memory that two ranks of one machine share.
  };
  Kind kind = Kind::kJoin;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint16_t channel = 0;
  std::uint32_t body_bytes = 0;         // Of what follows: kJoin alone.
  GroupNonce nonce{};                   // Zero in the first kJoin.
  std::array<std::uint64_t, 2> call{};  // Drawn for each connection; zero for kJoin.
  bool operator==(const Opening&) const = default;
};

// One rank as it describes itself.
struct Member {
  std::uint32_t rank = 0;
  std::uint32_t size = 0;  // Of the group that it was started for.
  std::string group;       // Name that all ranks of one group share.
  std::string host;        // Where it listens: a numeric address.
  std::uint16_t port = 0;
  std::string machine;     // Equal where Unix-domain sockets and shared memory reach from one to the other.
  std::string local_name;  // Its abstract Unix-domain socket.
  std::string cores;       // That its process may run on: a cpu_set_t.
  std::uint32_t uid = 0;
  std::uint32_t pid = 0;
  bool over_ucx = false;              // Its streams are UCX's.
  MachineCosts costs{};               // Of its machine, as it knows them.
  std::uint64_t measured_routes = 0;  // RankPlace's own.
  bool operator==(const Member&) const = default;
};

struct GroupTable {
  GroupNonce nonce{};
  std::vector<Member> members;  // By rank.
};

Bytes encode_opening(const Opening& opening);
// Precondition: Opening::kBytes bytes.
Result<Opening> decode_opening(std::span<const std::byte> bytes);
Bytes encode_member(const Member& member);
Result<Member> decode_member(std::span<const std::byte> bytes);

// The answer to kJoin: a head that says how long the rest is, then a table or the reason for refusal.
inline constexpr std::size_t kAnswerHeadBytes = 16;
Bytes encode_table(const GroupTable& table);
Bytes encode_refusal(const Status& why);
struct AnswerHead {
  bool refused = false;
  std::uint32_t body_bytes = 0;
};
// Precondition: kAnswerHeadBytes bytes.
Result<AnswerHead> decode_answer_head(std::span<const std::byte> bytes);
// The table, or the refusal as the Status that it is.
Result<GroupTable> decode_answer(const AnswerHead& head, std::span<const std::byte> body);

}  // namespace thalweg
