// How far a kept state was when a scheduler said something: in the second segment of each frame of a
// scheduler whose state is kept, with what it has heard of its receiver, and of each frame by which a node
// that has been told something speaks as a member.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/frame.h"

namespace thalweg::wire {

struct StateMark {
  std::uint32_t lead = 0;   // Who led: a number that no other one has drawn. 0: nobody.
  std::uint32_t write = 0;  // How many times that one had written when it said so.
  bool operator==(const StateMark&) const = default;
};

// A scheduler's: as of when, and what the receiver has said that it was told last.
struct SaidMark {
  StateMark now;
  StateMark heard;
};

// A heartbeat of a scheduler that does not know whether it still leads: another one may by now.
inline constexpr std::uint8_t kInDoubt = frame_flags::kNewer;

inline Bytes encode(const StateMark& mark) {
  return Bytes::of(std::vector<std::uint32_t>{mark.lead, mark.write});
}
inline Bytes encode(const SaidMark& mark) {
  return Bytes::of(
      std::vector<std::uint32_t>{mark.now.lead, mark.now.write, mark.heard.lead, mark.heard.write});
}

// Empty when the bytes are not exactly one.
inline std::optional<StateMark> decode_state_mark(const Bytes& bytes) {
  if (bytes.size() != 2 * sizeof(std::uint32_t)) return std::nullopt;
  const auto words = bytes.as<std::uint32_t>();
  return StateMark{words[0], words[1]};
}
inline std::optional<SaidMark> decode_said_mark(const Bytes& bytes) {
  if (bytes.size() != 4 * sizeof(std::uint32_t)) return std::nullopt;
  const auto words = bytes.as<std::uint32_t>();
  return SaidMark{{words[0], words[1]}, {words[2], words[3]}};
}

}  // namespace thalweg::wire
