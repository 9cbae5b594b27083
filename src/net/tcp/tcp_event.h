// What a driver tells of its connections: for programs as it is, for people in the words that are made here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "thalweg/ids.h"

namespace thalweg {

enum class TcpCause : std::uint8_t {
  kOther,
  kSecret,   // The two ends do not know the same secret.
  kCluster,  // They are of different clusters.
  kPlace,    // The one that was called is not the one that was meant.
};

struct TcpReason {
  TcpReason() = default;
  TcpReason(std::string in_words, TcpCause its_cause = TcpCause::kOther)
      : why(std::move(in_words)), cause(its_cause) {}
  TcpReason(const char* in_words) : why(in_words) {}
  std::string why;
  TcpCause cause = TcpCause::kOther;
  std::string told;  // kCluster: what the other end was told of its own, see TcpOptions::told.
};

struct TcpEvent {
  enum class Kind : std::uint8_t {
    kUnreached,  // A peer could not be called, and will be called again.
    kRefused,    // A caller was not let in.
    kClosed,     // A connection was closed because of what came by it.
    kLost,       // A peer that was connected is given up.
    kNotice,     // Something else; the reason says all.
  };
  Kind kind = Kind::kNotice;
  std::optional<NodeId> peer;  // Where it has said who it is, or is who was called.
  std::string where;           // The other end, for people.
  TcpReason reason;
  std::uint64_t more = 0;  // Not 0: this stands for so many of its kind that are not told singly.
};

std::string to_text(const TcpEvent& event);
// The same for whoever reads it while the driver tries again.
std::string log_line(const TcpEvent& event);

}  // namespace thalweg
